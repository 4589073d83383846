package ui

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/history"
)

// overview is the first page of a run.
type overview struct {
	Facts   []page.Fact
	Done    int
	Total   int
	Part    template.HTML
	Screen  firstscreen.Screen
	Partial bool
	// Compare is the address that compares its agents; "" without several.
	Compare  string
	Waiting  string
	Running  []runningRow
	More     int
	Lease    []page.Fact
	Outcomes []string
	Warnings []string
	Graph    template.HTML
	Timeline template.HTML
	Kinds    []string
	Live     bool
	Address  string
}

// tailLines is the number of last lines of a log on the page of an attempt.
const tailLines = 12

// runPage is a run's leaderboard, what went wrong, and how it went.
func (u *UI) runPage(r *http.Request, m *model, sum *history.Summary, c *content) error {
	o := overview{Live: c.live, Address: runAddress(sum.ID), Done: m.state.Done(), Total: m.total(), Waiting: view.WaitsText(m.state.Waiting), Outcomes: m.state.Outcomes.Lines()}
	o.Facts = u.runFacts(m, sum)
	o.Part = progressBar(o.Done, o.Total)
	if err := u.screen(r.Context(), m, sum, &o); err != nil {
		return err
	}
	c.live = c.live || m.shown.more || m.shown.unread
	if m.shown.more && streamed(r) {
		u.results.begin() // it reads the others once the page is there
	}
	u.runningRows(m, sum, &o)
	o.Warnings = view.Warnings(m.state.Warnings)
	o.Graph = m.graph(sum)
	o.Timeline, o.Kinds = u.timeline(sum)
	for _, s := range [][2]string{{"facts", "run facts"}, {"board", "run board"}, {"problems", "run problems"}, {"running", "run running"}, {"graph", "run graph"}, {"timeline", "run timeline"}, {"outputs", "run outputs"}} {
		c.show(s[0], s[1], o)
	}
	return c.err
}

// shownScreen is a first screen with the other outputs of the run.
type shownScreen struct {
	firstscreen.Screen
	// events is the number of events that it was made of.
	events int
	live   bool
	// more means that reports are still to be read, unread that logs are.
	more, unread bool
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
		var refs []string
		for _, agent := range o.Screen.Agents {
			refs = append(refs, runPrefix+sum.ID+"/"+agent)
		}
		o.Compare = compareAddress(refs...)
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
		src := firstscreen.Source{Journal: m.journal(sum, catalog), Summary: sum, Store: c, Tail: u.tail, Link: func(address string) string { return stepAddress(sum.ID, address, "") }}
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

// graph draws the blocks of the run with their counts.
func (m *model) graph(sum *history.Summary) template.HTML {
	if m.plan == nil {
		return ""
	}
	live, bad := sum.State == history.Running, map[string]int{}
	for _, p := range m.state.Outcomes.Problems {
		bad[p.Address]++
	}
	var blocks page.Blocks
	for i := range m.plan.Steps {
		p := &m.plan.Steps[i]
		s := cmp.Or(m.sums.Step(p.Name), &history.StepSummary{})
		var after []string
		for _, b := range p.After {
			after = append(after, m.plan.Steps[b].Address.Step.String())
		}
		counts := blocks.Add(p.Address.Step.String(), s.Status, after...)
		counts.Problems += bad[p.Name]
		counts.Running += board.Count(live && s.Status == "" && !s.Started.IsZero())
	}
	return blocks.Graph(runAddress(sum.ID)+"/steps?q=", live)
}

// timeline draws when each step ran.
func (u *UI) timeline(sum *history.Summary) (template.HTML, []string) {
	var bars []page.Bar
	for i := range sum.Steps {
		if s := &sum.Steps[i]; !s.Started.IsZero() {
			bars = append(bars, page.Bar{Address: s.Address, Kind: s.Kind, Status: s.Status, Started: s.Started, Duration: sum.Took(s, u.Now())})
		}
	}
	kinds := page.Kinds(bars)
	return page.Timeline(sum.Started, bars, kinds), kinds
}
