package ui

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
)

// maxModels is the number of shown runs in memory.
const maxModels = 4

// models are the runs that were shown last.
type models struct {
	mu   sync.Mutex
	list []*model
	// likely is the id of the run that was read before anybody opened it.
	likely atomic.Value
}

// expect reads a run that is likely to be opened next, so that its page is there at once.
func (m *models) expect(l *history.Store, id string) {
	if m.likely.Swap(id) != id {
		go func() { _, _ = m.of(l, id) }() // an error is shown to whoever opens it
	}
}

// of returns the model of a run, brought up to date.
func (m *models) of(l *history.Store, id string) (*model, error) {
	opened, err := m.open(l, id)
	if err != nil {
		return nil, err
	}
	return opened, opened.refresh()
}

// open returns the model of a run as it was read last.
func (m *models) open(l *history.Store, id string) (*model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var opened *model
	if i := slices.IndexFunc(m.list, func(r *model) bool { return r.past.Info.ID == id }); i >= 0 {
		opened = m.list[i]
		m.list = slices.Delete(m.list, i, i+1)
	} else {
		past, err := l.Open(id)
		if err != nil {
			return nil, err
		}
		opened = newModel(past)
	}
	m.list = append(m.list[max(0, len(m.list)-maxModels+1):], opened)
	return opened, nil
}

// model holds a run's plan and its journal as far as it has been read. Everything in it
// is read under its lock.
type model struct {
	past  *history.Past
	mu    sync.Mutex
	watch *history.Watch
	sums  *history.Summariser
	state *view.State
	// plan is nil if it cannot be read; planned are the indexes of its steps.
	once    sync.Once
	plan    *plan.Plan
	planned map[string]int
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
	used map[string]*usage
	// reports are the reports of grade steps that were shown, by address; tried are the
	// steps whose reports could not be read.
	reports map[string]grading.Graded
	tried   map[string]bool
	// attempts are the attempts as they were made last; see UI.attemptsOf.
	attempts []*results.Attempt
	made     attemptsMade
}

func newModel(past *history.Past) *model {
	return &model{past: past, watch: past.Watch(), sums: past.Summarise(), state: view.NewState(), planned: map[string]int{}, grades: map[string]string{}, checks: map[string]string{}, used: map[string]*usage{}, reports: map[string]grading.Graded{}, tried: map[string]bool{}}
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
				m.used[e.Address] = &usage{}
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
		m.planned[s.Name] = i
		for _, b := range s.After {
			if p.Steps[b].Kind == conditions.AttemptKind {
				switch s.Kind {
				case conditions.GradeKind:
					m.grades[p.Steps[b].Name] = s.Name
				case checkKind:
					m.checks[p.Steps[b].Name] = s.Name
				}
			}
		}
	}
}

// journal reads the attempts of the run as they are now.
func (m *model) journal(sum *history.Summary, catalog *competitions.Catalog) attempts.Journal {
	return attempts.Journal{Run: sum.Info, Live: sum.State == history.Running, Pairs: attempts.PairsOf(m.addresses(), m.kind, m.attemptOf), Step: m.sums.Step, Reports: m.reports, Catalog: catalog, Last: sum.Last, Names: m.names}
}

// addresses are the steps of the run by block, in the order of the plan, or, without
// one, in that of the journal.
func (m *model) addresses() []string {
	if m.plan != nil && m.listed != nil {
		return m.listed
	}
	var out []string
	if m.plan != nil {
		for i := range m.plan.Steps {
			out = append(out, m.plan.Steps[i].Name)
		}
	} else {
		for _, s := range m.sums.Summary().Steps {
			out = append(out, s.Address)
		}
	}
	m.listed = view.InOrder(out, func(name string) string { return name })
	return m.listed
}

// names are the names of a step that the plan has.
func (m *model) names(address string) []string {
	if i, ok := m.planned[address]; ok {
		return m.plan.Steps[i].Names
	}
	return nil
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

// after are the addresses of the steps that a step depends on.
func (m *model) after(address string) []string {
	i, ok := m.planned[address]
	if !ok {
		return nil
	}
	var out []string
	for _, b := range m.plan.Steps[i].After {
		out = append(out, m.plan.Steps[b].Name)
	}
	return out
}

// kind is the kind of a step.
func (m *model) kind(address string) string {
	if i, ok := m.planned[address]; ok {
		return m.plan.Steps[i].Kind
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(address, "step."), ".")
	return kind
}

// took returns a step's duration so far; see history.Summary.Took.
func took(s *history.StepSummary, now time.Time, sum *history.Summary) string {
	switch {
	case s == nil || s.Started.IsZero():
		return ""
	case s.Status == "":
		return view.Duration(sum.Took(s, now).Round(time.Second))
	}
	return view.Duration(sum.Took(s, now))
}
