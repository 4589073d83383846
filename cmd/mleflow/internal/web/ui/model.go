package ui

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// maxModels is the number of shown runs in memory.
const maxModels = 4

// shownModels are the runs that were shown last.
type shownModels struct {
	recent[string, *model]
	// likely is the id of the run that was read before anybody opened it.
	likely atomic.Value
}

// expect reads a run that is likely to be opened next, so that its page is there at once.
func (m *shownModels) expect(l *history.Store, id string) {
	if m.likely.Swap(id) != id {
		go func() { _, _ = m.of(l, id) }() // an error is shown to whoever opens it
	}
}

// of returns the model of a run, brought up to date.
func (m *shownModels) of(l *history.Store, id string) (*model, error) {
	opened, err := m.get(id, func() (*model, error) {
		past, err := l.Open(id)
		if err != nil {
			return nil, err
		}
		return newModel(past), nil
	})
	if err != nil {
		return nil, err
	}
	if err = opened.refresh(); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: run %s was removed", history.ErrNoRun, id)
	}
	return opened, err
}

// recent remembers the values that were asked for last, at most so many.
type recent[K comparable, V any] struct {
	mu     sync.Mutex
	most   int
	keys   []K // the latest is the last
	values map[K]V
}

// get returns the value of a key, which it makes if it does not remember it.
func (r *recent[K, V]) get(key K, make func() (V, error)) (V, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	value, known := r.values[key]
	if !known {
		var err error
		if value, err = make(); err != nil {
			return value, err
		}
	}
	r.keys = append(slices.DeleteFunc(r.keys, func(k K) bool { return k == key }), key)
	if r.values == nil {
		r.values = map[K]V{}
	}
	r.values[key] = value
	if len(r.keys) > r.most {
		delete(r.values, r.keys[0])
		r.keys = r.keys[1:]
	}
	return value, nil
}

// model holds a run's plan and its journal as far as it has been read. Everything in it
// is read under its lock.
type model struct {
	past  *history.Past
	mu    sync.Mutex
	watch *history.Watch
	sums  *history.Summariser
	state *view.State
	// plan is nil if it cannot be read; planned are its steps by address.
	once    sync.Once
	plan    *plan.Plan
	planned map[string]*plan.Step
	listed  []string // see addresses
	// grades are the steps that grade, by the attempts that they grade.
	grades map[string]string
	// checks are the steps that apply rules, by the attempts that they check.
	checks map[string]string
	// events is the number of events read, shown the first screen made of them.
	events int
	shown  *shownScreen
	// causes are the problems of attempts with what their logs say; see explained.
	causes []view.Problem
	// used is what attempts used over time.
	used map[string]*useOverTime
	// reports are the reports of grade steps that were shown, by address; tried are the
	// steps whose reports could not be read.
	reports map[string]grading.Graded
	tried   map[string]bool
	// attempts are the attempts as they were made last; see UI.attemptsOf.
	attempts []*results.Attempt
	made     attemptsMade
}

func newModel(past *history.Past) *model {
	return &model{past: past, watch: past.Watch(), sums: past.Summarise(), state: view.NewState(), planned: map[string]*plan.Step{}, grades: map[string]string{}, checks: map[string]string{}, used: map[string]*useOverTime{}, reports: map[string]grading.Graded{}, tried: map[string]bool{}}
}

// refresh reads the events added to the journal since the last time, and at first the plan.
func (m *model) refresh() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all sync.WaitGroup
	defer all.Wait()
	m.once.Do(func() { all.Go(m.readPlan) })
	events, err := m.watch.Next()
	if err != nil {
		return err
	}
	m.events += len(events)
	all.Go(func() {
		for _, e := range events {
			m.sums.Add(e)
		}
	})
	for _, e := range events {
		m.state.Apply(e)
		switch e := e.(type) {
		case event.StepStarted:
			if u := m.used[e.Address]; u != nil {
				u.code = nil
			}
		case event.StepPhase:
			if m.used[e.Address] == nil {
				m.used[e.Address] = &useOverTime{}
			}
			m.used[e.Address].add(e)
		}
	}
	return nil
}

// readPlan reads the plan. Without it, the journal describes the run.
func (m *model) readPlan() {
	p, err := m.past.Plan()
	if err != nil {
		return
	}
	m.plan = p
	for i := range p.Steps {
		s := &p.Steps[i]
		m.planned[s.Name] = s
		for _, b := range s.After {
			if p.Steps[b].Kind == conditions.AttemptKind {
				switch s.Kind {
				case conditions.GradeKind:
					m.grades[p.Steps[b].Name] = s.Name
				case conditions.CheckKind:
					m.checks[p.Steps[b].Name] = s.Name
				}
			}
		}
	}
}

// journal reads the attempts of the run as they are now.
func (m *model) journal(sum *history.Summary, catalog *competitions.Catalog) attempts.Journal {
	var benchmarks []step.Benchmark
	if m.plan != nil {
		benchmarks = m.plan.Benchmarks
	}
	return attempts.Journal{Run: sum.Info, Benchmarks: benchmarks, Live: sum.State == history.Running, Pairs: attempts.PairsOf(m.addresses(), m.kind, m.attemptOf), Step: m.sums.Step, Reports: m.reports, Catalog: catalog, Last: sum.Last, Names: m.names, Steered: sum.Steered,
		Ready: attempts.Readiness(m.plan, sum.Started, m.sums.Step)}
}

// addresses are the steps of the run by block, in the order of the plan, or, without
// one, in that of the journal.
func (m *model) addresses() []string {
	self := func(address string) string { return address }
	if m.plan == nil {
		return view.InOrder(lists.Of(m.sums.Summary().Steps, view.StepAddress), self)
	}
	if m.listed == nil {
		m.listed = view.InOrder(lists.Of(m.plan.Steps, func(s plan.Step) string { return s.Name }), self)
	}
	return m.listed
}

// step is a step of the plan; of one that the plan does not have only the kind is known.
func (m *model) step(address string) *plan.Step {
	if s := m.planned[address]; s != nil {
		return s
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(address, "step."), ".")
	return &plan.Step{Kind: kind}
}

// kind is the kind of a step.
func (m *model) kind(address string) string { return m.step(address).Kind }

// names are the names of a step that the plan has.
func (m *model) names(address string) []string { return m.step(address).Names }

// reasons are those for which the plan runs a step.
func (m *model) reasons(address string) []string {
	return lists.Of(m.step(address).Reasons, func(r plan.Reason) string { return r.Text })
}

// after are the addresses of the steps that a step depends on.
func (m *model) after(address string) []string {
	return lists.Of(m.step(address).After, func(b int) string { return m.plan.Steps[b].Name })
}

// attemptOf returns the attempt that a step grades, "" if there is none.
func (m *model) attemptOf(grade string) string {
	for _, before := range m.after(grade) {
		if m.kind(before) == conditions.AttemptKind {
			return before
		}
	}
	return ""
}

// tookText returns a step's duration so far; see history.Summary.Took.
func tookText(s *history.StepSummary, now time.Time, sum *history.Summary) string {
	switch {
	case s == nil || s.Started.IsZero():
		return ""
	case s.Status == "":
		return view.Duration(sum.Took(s, now).Round(time.Second))
	}
	return view.Duration(sum.Took(s, now))
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

// attemptsMade is what the attempts of a shown run were made of: the number of events and of
// reports, and the state of the run.
type attemptsMade struct {
	events, reports int
	state           history.State
}

// shownScreen is a first screen with the other outputs of the run.
type shownScreen struct {
	firstscreen.Screen
	// events is the number of events that it was made of.
	events int
	live   bool
	// more means that reports are still to be read, unread that logs are.
	more, unread bool
	// hours are where the time of its attempts went.
	hours []*results.Hours
}
