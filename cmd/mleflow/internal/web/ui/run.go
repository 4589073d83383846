package ui

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
)

// runHead is the head of every page of a run.
type runHead struct {
	ID, Pipeline, State, Started, Warning string
	Live                                  bool
	Tabs                                  []page.Link
}

// openRun returns the model of the run that an address names, locked, and the function
// that unlocks it.
func (u *UI) openRun(r *http.Request) (*model, func(), error) {
	m, err := u.models.of(u.Ledger, r.PathValue("run"))
	if err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	return m, m.mu.Unlock, nil
}

// runContent begins a page of a run.
func (u *UI) runContent(m *model, sum *ledger.Summary, tab string) (*content, error) {
	live := sum.State == ledger.Running
	h := runHead{ID: sum.ID, Pipeline: "?", State: string(sum.State), Started: page.Date(sum.Started), Live: live}
	if sum.Pipeline != "" {
		h.Pipeline = filepath.Base(sum.Pipeline)
	}
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

// overview is the first page of a run.
type overview struct {
	Facts    []page.Fact
	Done     int
	Total    int
	Part     template.HTML
	Graph    template.HTML
	Waiting  string
	Running  []runningRow
	More     int
	Lease    []page.Fact
	Failures []failureRow
	FailMore int
	Problems []failureRow
	ProbMore int
	Outcomes []string
	Warnings []string
	Outputs  []page.Fact
	Live     bool
	Address  string
}

// runningRow is an attempt of a step under way.
type runningRow struct {
	Address, Name, Link, Took, Phase, Limit, Memory, Submission, Devices, Last string
	// Share is the elapsed part of its time limit or its work, in percent.
	Share    int
	HasShare bool
}

// failureRow is a step that failed, or an attempt that did not end well.
type failureRow struct{ Address, Link, Text, Tail string }

// shownFailures is the largest number of failures on a page, and tailLines the number of
// last log lines of each.
const shownFailures, tailLines = 20, 12

func (u *UI) runPage(r *http.Request) (*content, error) {
	m, unlock, err := u.openRun(r)
	if err != nil {
		return nil, err
	}
	defer unlock()
	sum := m.sums.Summary()
	c, err := u.runContent(m, sum, "Overview")
	if err != nil {
		return nil, err
	}
	o := overview{Live: c.live, Address: runAddress(sum.ID), Done: m.state.Done(), Total: m.total(), Waiting: view.WaitsText(m.state.Waiting)}
	o.Facts = u.runFacts(m, sum)
	o.Part = progressBar(o.Done, o.Total)
	o.Graph = m.graph(sum)
	u.runningRows(m, sum, &o)
	u.failures(m, sum, &o)
	for _, w := range m.state.Warnings {
		o.Warnings = append(o.Warnings, strings.TrimSpace(w.Address+" "+w.Message))
	}
	if c.live {
		if o.Outputs, err = u.boardSoFar(r.Context(), m, sum); err != nil {
			return nil, err
		}
	}
	for _, out := range u.outputs(r.Context(), m, sum) {
		o.Outputs = append(o.Outputs, page.Fact{Name: out.Name, Value: out.Value})
	}
	for _, s := range []struct{ id, name string }{{"facts", "run facts"}, {"graph", "run graph"}, {"running", "run running"}, {"problems", "run problems"}, {"outputs", "run outputs"}} {
		if err := c.add(s.id, s.name, o); err != nil {
			return nil, err
		}
	}
	return c, nil
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

func (u *UI) runFacts(m *model, sum *ledger.Summary) []page.Fact {
	counts := m.state.Counts
	facts := []page.Fact{{Name: "took", Value: view.Duration(max(0, sum.Last.Sub(sum.Started)))}, {Name: "steps done", Value: fmt.Sprintf("%s of %s", view.Count(int64(m.state.Done())), view.Count(int64(m.total())))}}
	if sum.State == ledger.Running {
		facts[0] = page.Fact{Name: "so far", Value: view.Duration(u.Now().Sub(sum.Started).Round(time.Second))}
	}
	for _, s := range []event.Status{event.Ran, event.Cached, event.Failed, event.Skipped, event.Cancelled, event.Unneeded} {
		if counts[s] > 0 {
			facts = append(facts, page.Fact{Name: string(s), Value: view.Count(int64(counts[s])), Class: string(s)})
		}
	}
	if t := m.state.Outcomes.Finished(); t != "" {
		facts = append(facts, page.Fact{Name: "attempts finished", Value: t})
	}
	if sum.State == ledger.Running {
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

func progressBar(done, total int) template.HTML {
	return template.HTML(fmt.Sprintf(`<progress max="%d" value="%d" aria-label="Steps done"></progress>`, max(total, 1), done))
}

// graph draws the blocks of the run with their counts.
func (m *model) graph(sum *ledger.Summary) template.HTML {
	counts := map[string]*blockCount{}
	for _, b := range m.blocks {
		counts[b] = &blockCount{by: map[event.Status]int{}}
	}
	if m.plan != nil {
		for i := range m.plan.Steps {
			counts[m.plan.Steps[i].Address.Step.String()].total++
		}
	}
	for i := range sum.Steps {
		s := &sum.Steps[i]
		b := counts[blockOf(s.Address)]
		switch {
		case b == nil:
		case s.Status != "":
			b.by[s.Status]++
		case sum.State == ledger.Running && !s.Started.IsZero():
			b.running++
		}
	}
	var blocks []page.Block
	for _, name := range m.blocks {
		b := counts[name]
		state, share := b.state(sum.State == ledger.Running)
		blocks = append(blocks, page.Block{Name: name, After: m.before[name], Counts: b.text(), State: state, Done: share, Address: runAddress(sum.ID) + "/steps?q=" + escaped(name)})
	}
	return page.Graph(blocks)
}

// blockCount counts the instances of a block.
type blockCount struct {
	total, running int
	by             map[event.Status]int
}

func (b *blockCount) done() (n int) {
	for _, c := range b.by {
		n += c
	}
	return n
}

func (b *blockCount) text() string {
	parts := []string{fmt.Sprintf("%d/%d", b.done(), b.total)}
	if b.running > 0 {
		parts = append(parts, fmt.Sprintf("%d running", b.running))
	}
	for _, s := range []event.Status{event.Failed, event.Skipped, event.Cancelled} {
		if b.by[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", b.by[s], s))
		}
	}
	if len(parts) == 1 && b.by[event.Cached] > 0 {
		parts = append(parts, fmt.Sprintf("%d cached", b.by[event.Cached]))
	}
	return strings.Join(parts, " · ")
}

func (b *blockCount) state(live bool) (string, float64) {
	share := float64(b.done()) / float64(max(b.total, 1))
	switch {
	case b.by[event.Failed] > 0:
		return "failed", share
	case b.running > 0:
		return "running", share
	case b.done() == 0 && live:
		return "waiting", 0
	}
	return "", share
}

// shownRunning is the largest number of running attempts on a page.
const shownRunning = 60

func (u *UI) runningRows(m *model, sum *ledger.Summary, o *overview) {
	if sum.State != ledger.Running {
		return
	}
	now := u.Now()
	var cpus float64
	var memory int64
	devices := 0
	for _, s := range m.leases {
		cpus, memory, devices = cpus+s.CPUs, memory+s.MemoryBytes, devices+len(s.Devices)
	}
	o.Lease = []page.Fact{{Name: "steps running", Value: view.Count(int64(len(m.leases)))}, {Name: "processors leased", Value: fmt.Sprintf("%g of %g", cpus, sum.CPUs)},
		{Name: "memory leased", Value: view.Bytes(memory) + " of " + view.Bytes(sum.MemoryBytes)}}
	if len(sum.GPUs) > 0 {
		o.Lease = append(o.Lease, page.Fact{Name: "GPUs leased", Value: fmt.Sprintf("%d of %d", devices, len(sum.GPUs))})
	}
	all := m.state.Running()
	o.More = max(0, len(all)-shownRunning)
	for _, a := range all[:min(len(all), shownRunning)] {
		row := runningRow{Address: a.Address, Name: a.Address, Link: stepAddress(sum.ID, a.Address, ""), Took: view.Duration(now.Sub(a.Time).Round(time.Second)), Devices: strings.Join(a.Devices, ", ")}
		row.phase(a.Phase, now)
		switch {
		case a.Waiting != nil:
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

// failures adds failed steps and bad outcomes, with the ends of logs.
func (u *UI) failures(m *model, sum *ledger.Summary, o *overview) {
	o.Outcomes = m.state.Outcomes.Lines()
	failed := m.state.Failures
	o.FailMore = max(0, len(failed)-shownFailures)
	for _, f := range failed[:min(len(failed), shownFailures)] {
		o.Failures = append(o.Failures, failureRow{f.Address, stepAddress(sum.ID, f.Address, ""), f.Error, strings.Join(m.past.Tail(f.Address, tailLines), "\n")})
	}
	all := m.state.Outcomes.Problems
	told := view.Outcomes{Problems: slices.Clone(all[:min(len(all), shownFailures)])}
	told.Explain(shownFailures, u.tail)
	o.ProbMore = len(all) - len(told.Problems)
	for _, p := range told.Problems {
		row := failureRow{Address: p.Address, Link: stepAddress(sum.ID, p.Address, ""), Text: p.What()}
		if past, err := u.Ledger.Open(p.Run); err == nil {
			row.Tail = strings.Join(past.Tail(p.Address, tailLines), "\n")
		}
		o.Problems = append(o.Problems, row)
	}
}

// aboutPage lists a run's command, variables and machine.
func (u *UI) aboutPage(r *http.Request) (*content, error) {
	m, unlock, err := u.openRun(r)
	if err != nil {
		return nil, err
	}
	defer unlock()
	sum := m.sums.Summary()
	c, err := u.runContent(m, sum, "About")
	if err != nil {
		return nil, err
	}
	sources, err := m.past.Sources()
	if err != nil {
		return nil, err
	}
	var files []page.Fact
	for _, name := range sortedKeys(sources) {
		files = append(files, page.Fact{Name: name, Value: bounded(sources[name], 256<<10)})
	}
	return c, c.add("about", "about", struct {
		Facts []page.Fact
		Files []page.Fact
		Form  descriptionForm
	}{page.Environment(m.past.Info), files, u.descriptionForm(m.past)})
}

// decode reads the JSON of a value of an event; false if it is not of this form.
func decode(text string, to any) bool { return text != "" && json.Unmarshal([]byte(text), to) == nil }
