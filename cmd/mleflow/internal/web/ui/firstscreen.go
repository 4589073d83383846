package ui

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// overview is the first page of a run.
type overview struct {
	Facts, Lease  page.Facts
	Screen        firstscreen.Screen
	Live, Partial bool
	// Done and Total count steps.
	Done, Total     int
	Address         string
	Graph, Timeline template.HTML
	// Compare is the address that compares its agents; "" without several.
	Compare, Waiting string
	// Running are the first attempts under way, More the number of the others.
	Running                   []runningRow
	More                      int
	Outcomes, Warnings, Kinds []string
	Hours                     template.HTML
	HourKinds                 []string
}

// tailLines is the number of last lines of a log on the page of an attempt.
const tailLines = 12

// runPage is a run's leaderboard, what went wrong, and how it went.
func (u *UI) runPage(r *http.Request, m *model, sum *history.Summary, c *content) error {
	o := overview{Live: c.live, Address: runAddress(sum.ID), Done: m.state.Done(), Total: m.total(), Waiting: view.WaitsText(m.state.Waiting), Outcomes: m.state.Outcomes.Lines()}
	o.Facts = m.facts(sum, u.Now())
	if err := u.screen(r.Context(), m, sum, &o); err != nil {
		return err
	}
	c.live = c.live || m.shown.more || m.shown.unread
	if m.shown.more && streamed(r) {
		u.results.begin() // it reads the others once the page is there
	}
	u.runningRows(m, sum, &o)
	o.Warnings = view.Warnings(m.state.Warnings)
	blocks := m.blocks(sum)
	o.Graph = blocks.Graph(o.Address+"/steps?q=", sum.State == history.Running)
	o.Timeline, o.Kinds = timeline(sum, u.Now())
	o.Hours, o.HourKinds = page.Hours(m.shown.hours)
	for _, id := range []string{"facts", "board", "problems", "running", "graph", "timeline", "hours", "outputs"} {
		c.show(id, "run "+id, o)
	}
	return nil
}

// screen fills in the leaderboard, the matrix, the causes of failure and the other outputs.
// What was made of the same events, with all reports, is taken again.
func (u *UI) screen(ctx context.Context, m *model, sum *history.Summary, o *overview) error {
	if m.shown == nil || m.shown.events != m.events || m.shown.live != o.Live {
		if err := u.makeScreen(ctx, m, sum, o.Live); err != nil {
			return err
		}
	}
	o.Screen = m.shown.Screen
	if n := len(o.Screen.Agents); n > 1 && n <= sidesShown {
		o.Compare = compareAddress(lists.Of(o.Screen.Agents, func(agent string) string { return runPrefix + sum.ID + "/" + agent })...)
	}
	o.Partial = o.Live && len(o.Screen.Tables) > 0
	return nil
}

func (u *UI) makeScreen(ctx context.Context, m *model, sum *history.Summary, live bool) error {
	catalog, err := u.Catalog(m.past)
	if err != nil {
		return err
	}
	s := &shownScreen{events: m.events, live: live}
	err = u.Results(m.past, func(c Results) error {
		j := m.journal(sum, catalog)
		s.hours = results.HoursOf(j.List())
		src := firstscreen.Source{Journal: j, Summary: sum, Store: c, Tail: u.tail, Link: func(address string) string { return stepAddress(sum.ID, address, "") }}
		var whole bool
		whole, s.more = u.readReports(ctx, m, c, src.Pairs)
		var problems []view.Problem
		problems, s.unread = m.explained(u)
		if s.Screen = src.New(ctx, problems); !whole || s.unread {
			s.events = -1
		}
		return nil
	})
	if err != nil {
		return err
	}
	if s.more {
		s.Note = fmt.Sprintf("%s reports are read, the others follow", view.Count(int64(len(m.reports))))
	}
	m.shown = s
	return nil
}

// reportsAtOnce is the number of reports that are read for one page. Those of a larger run
// follow, so that its page is there at once.
const reportsAtOnce = 500

// readReports reads the reports of the grade steps that have ended, and returns whether
// all are known. More means that there are some that nobody has tried to read: those that
// cannot be read are tried again when all have been tried.
func (u *UI) readReports(ctx context.Context, m *model, c Results, pairs []attempts.Pair) (whole, more bool) {
	whole = true
	read := 0
	for _, p := range pairs {
		s := m.sums.Step(p.Grade)
		if s == nil || s.Outputs["report"] == "" {
			continue
		}
		g, known := m.reports[p.Grade]
		if !known {
			g, known = u.results.known(s.Action)
		}
		if !known && !m.tried[p.Grade] {
			if read == reportsAtOnce {
				whole, more = false, true
				continue
			}
			read++
			m.tried[p.Grade] = true
			var err error
			g, err = outputs.Read[grading.Graded](ctx, c, s.Outputs["report"])
			known = err == nil
		}
		if !known {
			whole = false
			continue
		}
		m.reports[p.Grade] = g
	}
	if !more {
		clear(m.tried)
	}
	return whole, more
}

// explainedAttempts is the number of attempts whose logs are searched for a cause,
// explainedAtOnce that for one page.
const explainedAttempts, explainedAtOnce = 300, 50

// explained returns the attempts that did not end well, with what their logs say. Each log is read once. More means that there are some to read.
func (m *model) explained(u *UI) (list []view.Problem, more bool) {
	all := m.state.Outcomes.Problems
	read, most := len(m.causes), min(len(all), explainedAttempts)
	fresh := view.Outcomes{Problems: slices.Clone(all[read:max(read, min(most, read+explainedAtOnce))])}
	fresh.Explain(explainedAtOnce, u.tail)
	m.causes = append(m.causes, fresh.Problems...)
	return slices.Concat(m.causes, all[len(m.causes):]), len(m.causes) < most
}

// blocks are the blocks of the run with their counts.
func (m *model) blocks(sum *history.Summary) (blocks page.Blocks) {
	if m.plan == nil {
		return nil
	}
	live, bad := sum.State == history.Running, map[string]int{}
	for _, p := range m.state.Outcomes.Problems {
		bad[p.Address]++
	}
	for i := range m.plan.Steps {
		p := &m.plan.Steps[i]
		s := cmp.Or(m.sums.Step(p.Name), &history.StepSummary{})
		after := lists.Of(p.After, func(b int) string { return m.plan.Steps[b].Address.Step.String() })
		counts := blocks.Add(p.Address.Step.String(), s.Status, after...)
		counts.Problems += bad[p.Name]
		if !s.Started.IsZero() {
			counts.Running += board.Count(live && s.Status == "")
			counts.Time += sum.Took(s, sum.Last)
		}
	}
	return blocks
}

// timeline draws when each step ran.
func timeline(sum *history.Summary, now time.Time) (template.HTML, []string) {
	var bars []page.Bar
	for i := range sum.Steps {
		if s := &sum.Steps[i]; !s.Started.IsZero() {
			bars = append(bars, page.Bar{Address: s.Address, Kind: s.Kind, Status: s.Status, Started: s.Started, Duration: sum.Took(s, now)})
		}
	}
	kinds := page.Kinds(bars)
	return page.Timeline(sum.Started, bars, kinds), kinds
}

// tail is the end of the log of a step in a run.
func (src Source) tail(run, address string, n int) []string {
	past, err := src.History.Open(run)
	if err != nil {
		return nil
	}
	return past.Tail(address, n)
}

// helpPage lists the keys.
func (u *UI) helpPage(*http.Request) (*content, error) {
	c := &content{title: "Keys"}
	c.show("help", "help", nil)
	return c, c.err
}

// facts are how the run ended or how far it is, and the counts of its steps and attempts.
func (m *model) facts(sum *history.Summary, now time.Time) (facts page.Facts) {
	live := sum.State == history.Running
	if live {
		facts.Add("so far", view.Duration(now.Sub(sum.Started).Round(time.Second)), "")
	} else {
		facts.Add("took", view.Duration(max(0, sum.Last.Sub(sum.Started))), "")
	}
	facts.Add("steps done", fraction(m.state.Done(), m.total()), "")
	for _, s := range []event.Status{event.Ran, event.Cached, event.Failed, event.Skipped, event.Cancelled, event.Unneeded} {
		class := view.When(s != event.Ran, string(s)) // that steps ran says nothing of their attempts
		n := m.state.Counts[s]
		share := view.When(s == event.Cached, fmt.Sprintf(" (%d%%)", n*100/max(1, m.total())))
		facts.Add(string(s), view.When(n > 0, view.Count(int64(n))+share), class)
	}
	switch bad, all := m.state.Outcomes.Unscored(); {
	case all == 0:
	case live:
		facts.Add("ended attempts scored", fraction(all-bad, all), "")
	default:
		facts.Add("attempts scored", fraction(all-bad, all), view.When(bad > 0, "bad"))
	}
	if live {
		end := page.Fact{Name: "expected end", Value: "not known"}
		if e := m.state.Expected; !e.End.IsZero() {
			end.Value = e.End.Local().Format("Mon 15:04")
			if left := e.End.Sub(now); left > 0 {
				end.Value += ", in " + view.Roughly(left)
			}
			if e.Unknown > 0 {
				end.Name += ", without " + view.Plural(e.Unknown, "step")
			}
		}
		facts = append(facts, end)
	}
	return facts
}

// total is the number of steps of the run.
func (m *model) total() int {
	if m.plan != nil {
		return len(m.plan.Steps)
	}
	return cmp.Or(m.state.Start.Steps, m.state.Done())
}

// shownRunning is the largest number of running attempts on a page.
const shownRunning = 60

func (u *UI) runningRows(m *model, sum *history.Summary, o *overview) {
	if sum.State != history.Running {
		return
	}
	now := u.Now()
	var cpus float64
	var memory int64
	devices := 0
	all := m.state.InProgress()
	for _, s := range all {
		cpus, memory, devices = cpus+s.CPUs, memory+s.MemoryBytes, devices+len(s.Devices)
	}
	o.Lease.Add("steps running", view.Count(int64(len(all))), "")
	o.Lease.Add("processors leased", fmt.Sprintf("%g of %g", cpus, sum.CPUs), "")
	o.Lease.Add("memory leased", view.Bytes(memory)+" of "+view.Bytes(sum.MemoryBytes), "")
	o.Lease.Add("GPUs leased", view.When(len(sum.GPUs) > 0, fmt.Sprintf("%d of %d", devices, len(sum.GPUs))), "")
	o.More = max(0, len(all)-shownRunning)
	for _, a := range all[:min(len(all), shownRunning)] {
		row := runningRowOf(a.StepStarted, a.Phase, now)
		row.Link = stepAddress(sum.ID, a.Address, "")
		switch {
		case a.Retry != nil:
			row.Phase = "failed; is tried again"
		case a.Space != nil:
			row.Phase = a.Space.Message
		case a.Stalled != nil:
			row.Phase = view.StalledFor(*a.Stalled, now) + ": " + view.StallText(*a.Stalled)
		case row.Phase == "" && a.Progress.Unit != "":
			row.Phase = strings.TrimSpace(a.Progress.What + " " + view.ProgressText(a.Progress.Done, a.Progress.Total, a.Progress.Unit))
			if a.Progress.Total > 0 {
				row.Share, row.HasShare = int(a.Progress.Done*100/a.Progress.Total), true
			}
		}
		if tail := m.past.Tail(a.Address, 1); len(tail) > 0 {
			row.Last = view.OneLine(tail[0])
		}
		o.Running = append(o.Running, row)
	}
}
