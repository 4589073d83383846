package ui

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
)

// tab is a page of a run, which fill completes.
func (u *UI) tab(name string, fill func(*http.Request, *model, *history.Summary, *content) error) func(*http.Request) (*content, error) {
	return func(r *http.Request) (*content, error) {
		m, unlock, err := u.openRun(r)
		if err != nil {
			return nil, err
		}
		defer unlock()
		sum := m.sums.Summary()
		c, err := u.runContent(m, sum, name)
		if err != nil {
			return nil, err
		}
		return c, fill(r, m, sum, c)
	}
}

// openRun returns the model of the run that an address names, locked, and the function
// that unlocks it.
func (u *UI) openRun(r *http.Request) (*model, func(), error) {
	m, err := u.models.of(u.History, r.PathValue("run"))
	if err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	return m, m.mu.Unlock, nil
}

// runHead is the head of every page of a run.
type runHead struct {
	ID, Pipeline, State, Class, Started, Warning string
	Live                                         bool
	Tabs                                         []page.Link
}

// runContent begins a page of a run.
func (u *UI) runContent(m *model, sum *history.Summary, tab string) (*content, error) {
	live := sum.State == history.Running
	h := runHead{ID: sum.ID, Pipeline: filepath.Base(cmp.Or(sum.Pipeline, "?")), Started: page.Date(sum.Started), Live: live}
	bad, all := m.state.Outcomes.Unscored()
	h.State, h.Class = page.Verdict(sum.State, bad, all)
	if n := m.state.Attempts.NotIsolated("were not isolated"); n != "" {
		h.Warning = n
	}
	base := runAddress(sum.ID)
	for _, t := range [][2]string{{"Overview", ""}, {"Steps", "/steps"}, {"Attempts", "/attempts"}, {"About", "/about"}} {
		h.Tabs = append(h.Tabs, page.Link{Text: t[0], Address: base + t[1], Here: t[0] == tab})
	}
	h.Tabs = append(h.Tabs, page.Link{Text: "Report", Address: base + "/report"})
	c := &content{title: h.Pipeline + " · " + sum.ID, nav: "Runs", live: live, wide: true}
	return c, c.add("head", "run head", h)
}

func (u *UI) runFacts(m *model, sum *history.Summary) []page.Fact {
	counts := m.state.Counts
	facts := []page.Fact{{Name: "took", Value: view.Duration(max(0, sum.Last.Sub(sum.Started)))}, {Name: "steps done", Value: fmt.Sprintf("%s of %s", view.Count(int64(m.state.Done())), view.Count(int64(m.total())))}}
	if sum.State == history.Running {
		facts[0] = page.Fact{Name: "so far", Value: view.Duration(u.Now().Sub(sum.Started).Round(time.Second))}
	}
	for _, s := range []event.Status{event.Ran, event.Cached, event.Failed, event.Skipped, event.Cancelled, event.Unneeded} {
		if counts[s] > 0 {
			facts = append(facts, page.Fact{Name: string(s), Value: view.Count(int64(counts[s])), Class: classOf(s)})
		}
	}
	if bad, all := m.state.Outcomes.Unscored(); all > 0 {
		scored := page.Fact{Name: "attempts scored", Value: fraction(all-bad, all)}
		switch {
		case sum.State == history.Running:
			scored.Name = "ended attempts scored"
		case bad > 0:
			scored.Class = "bad"
		}
		facts = append(facts, scored)
	}
	if sum.State == history.Running {
		end := page.Fact{Name: "expected end", Value: "not known"}
		if e := m.state.Expected; !e.End.IsZero() {
			end.Value = e.End.Local().Format("Mon 15:04")
			if left := e.End.Sub(u.Now()); left > 0 {
				end.Value += ", in " + view.Roughly(left)
			}
			if e.Unknown > 0 {
				end.Name = fmt.Sprintf("expected end, without %s", view.Plural(e.Unknown, "step"))
			}
		}
		facts = append(facts, end)
	}
	return facts
}

// total is the number of steps of the run.
func (m *model) total() int {
	switch {
	case m.plan != nil:
		return len(m.plan.Steps)
	case m.state.Start.Steps > 0:
		return m.state.Start.Steps
	}
	return m.state.Done()
}

// classOf colours a count of steps. That steps ran says nothing of their attempts.
func classOf(s event.Status) string {
	if s == event.Ran {
		return ""
	}
	return string(s)
}

func progressBar(done, total int) template.HTML {
	return template.HTML(fmt.Sprintf(`<progress max="%d" value="%d" aria-label="Steps done"></progress>`, max(total, 1), done))
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
	o.Lease = []page.Fact{{Name: "steps running", Value: view.Count(int64(len(all)))}, {Name: "processors leased", Value: fmt.Sprintf("%g of %g", cpus, sum.CPUs)},
		{Name: "memory leased", Value: view.Bytes(memory) + " of " + view.Bytes(sum.MemoryBytes)}}
	if len(sum.GPUs) > 0 {
		o.Lease = append(o.Lease, page.Fact{Name: "GPUs leased", Value: fmt.Sprintf("%d of %d", devices, len(sum.GPUs))})
	}
	o.More = max(0, len(all)-shownRunning)
	for _, a := range all[:min(len(all), shownRunning)] {
		row := runningRowOf(a.StepStarted, a.Phase, now)
		row.Link = stepAddress(sum.ID, a.Address, "")
		switch {
		case a.Retry != nil:
			row.Phase = "failed; is tried again"
		case a.Space != nil:
			row.Phase = a.Space.Message
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

// runningRow is an attempt of a step under way.
type runningRow struct {
	Address, Link, Took, Phase, Limit, Memory, Submission, Devices, Last string
	// Share is the elapsed part of its time limit or its work, in percent.
	Share    int
	HasShare bool
}

// runningRowOf is an attempt of a step with its current phase.
func runningRowOf(e event.StepStarted, p step.Phase, now time.Time) runningRow {
	row := runningRow{Address: e.Address, Took: view.Duration(now.Sub(e.Time).Round(time.Second)), Phase: string(p.Name), Devices: strings.Join(e.Devices, ", ")}
	switch {
	case p.Name == step.Running:
		row.Took = view.Duration(now.Sub(p.Started).Round(time.Second))
		if p.LimitMillis > 0 {
			row.Limit = view.Millis(p.LimitMillis)
			row.Share, row.HasShare = int(min(100, now.Sub(p.Started).Milliseconds()*100/p.LimitMillis)), true
		}
		row.Submission = string(p.Submission)
		if p.Reason != "" {
			row.Submission += ": " + p.Reason
		}
		if p.MemoryBytes > 0 {
			row.Memory = view.Bytes(p.MemoryBytes)
		}
	case p.Name != "" && p.TotalBytes > 0:
		row.Share, row.HasShare = int(min(100, p.Bytes*100/p.TotalBytes)), true
		row.Phase = view.PhaseText(p, now)
	}
	return row
}

// aboutPage lists a run's command, variables and machine.
func (u *UI) aboutPage(r *http.Request, m *model, sum *history.Summary, c *content) error {
	sources, err := m.past.Sources()
	if err != nil {
		return err
	}
	var files []page.Fact
	for _, name := range sortedKeys(sources) {
		files = append(files, page.Fact{Name: name, Value: bounded(sources[name], 256<<10)})
	}
	return c.add("about", "about", struct {
		Info  history.Info
		Files []page.Fact
		Form  descriptionForm
	}{m.past.Info, files, u.descriptionForm(m.past)})
}
