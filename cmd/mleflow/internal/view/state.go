package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// TailLines is the number of a step's last lines that are kept to explain a failure.
// failureLines is the number of them that are shown for a step that is no agent.
const TailLines, failureLines = 60, 5

// State is the state of a run after a sequence of events, with what the live view and the
// summary show of it. It is not safe for concurrent use.
type State struct {
	event.Run
	Failures []Failure
	// Attempts are the agents' attempts with a result, run or cached.
	Attempts conditions.Tally
	// Outcomes are the outcomes of those attempts and of their grading.
	Outcomes Outcomes
	// Grades are the present scores; nil if the view shows none.
	Grades *Grades

	// order are the step blocks in dependency order, blocks the same by name.
	order   []*blockCounts
	blocks  map[string]*blockCounts
	running map[string]*running
	tails   map[string][]string
	// publishRate is the speed at which results are written to a path.
	publishRate rate
	// paid is the cost of models by the attempt's address.
	paid map[string]int64
}

// running is a step in progress.
type running struct {
	*event.Execution
	// Rate is the speed at which its progress grows, and Line the last line of its output.
	Rate rate
	Line string
}

// Failure is a step that failed permanently, with the last lines of its output.
type Failure struct {
	event.StepFinished
	Tail []string
}

// NewState returns the state before any event.
func NewState() *State {
	return &State{blocks: map[string]*blockCounts{}, running: map[string]*running{}, tails: map[string][]string{}, paid: map[string]int64{}}
}

// Apply applies one event, whose strings it makes safe to show.
func (s *State) Apply(e event.Event) { s.apply(cleaned(e)) }

// apply is Apply for a cleaned event.
func (s *State) apply(e event.Event) {
	s.Run.Apply(e)
	switch e := e.(type) {
	case event.RunStarted:
		for _, b := range e.Blocks {
			s.block(b.Block).Steps = b.Steps
		}
	case event.StepStarted:
		if s.running[e.Address] == nil {
			s.block(BlockOf(e.Address)).Running++
		}
		s.running[e.Address] = &running{Execution: s.Run.Running[e.Address]}
	case event.StepProgress:
		if r := s.running[e.Address]; r != nil && r.Progress == e {
			r.Rate.add(e)
		}
	case event.StepJob:
		if r := s.running[e.Address]; r != nil && r.Progress.Time.IsZero() && r.Phase.Name == "" {
			r.Rate = rate{}
		}
	case event.StepPhase:
		if r := s.running[e.Address]; r != nil && r.Phase == e.Phase && e.TotalBytes > 0 {
			r.Rate.add(event.StepProgress{At: e.At, Progress: step.Progress{What: string(e.Name) + e.What, Done: e.Bytes, Total: e.TotalBytes, Unit: "bytes"}})
		}
		if e.Cost > 0 {
			s.paid[e.Address] = e.Cost
		}
	case event.StepLog:
		s.log(e)
	case event.StepFinished:
		s.finish(e)
	case event.Publishing:
		s.publishRate.add(event.StepProgress{At: e.At, Progress: e.Progress})
	case event.Published:
		s.publishRate = rate{}
	}
}

// Paid returns the cost of models of the run's attempts, in billionths of a US dollar.
func (s *State) Paid() (sum int64) {
	for _, cost := range s.paid {
		sum += cost
	}
	return sum
}

func (s *State) log(e event.StepLog) {
	tail := append(s.tails[e.Address], e.Line[:min(len(e.Line), lineBytes)])
	if len(tail) > TailLines {
		tail = slices.Delete(tail, 0, len(tail)-TailLines)
	}
	s.tails[e.Address] = tail
	if r := s.running[e.Address]; r != nil && e.Line != "" && !strings.HasPrefix(e.Line, step.NotePrefix) {
		r.Line = e.Line
	}
}

func (s *State) finish(e event.StepFinished) {
	b := s.block(BlockOf(e.Address))
	b.Counts[e.Status]++
	if s.running[e.Address] != nil {
		b.Running--
	}
	if e.Status.Succeeded() {
		s.Attempts.Add(e.Kind, e.Conditions)
		s.Grades.add(e)
		before := len(s.Outcomes.Problems)
		s.Outcomes.Add(e, s.Start.Run, s.tails[e.Address])
		if len(s.Outcomes.Problems) > before {
			b.Bad[s.Outcomes.Problems[before].Outcome]++
		}
	}
	if e.Status == event.Failed {
		tail := s.tails[e.Address]
		s.Failures = append(s.Failures, Failure{StepFinished: e, Tail: tail[max(0, len(tail)-failureLines):]})
	}
	delete(s.running, e.Address)
	delete(s.tails, e.Address)
}

// refused reports whether the preflight gave the reason why a step is not started.
func (s *State) refused(address string) bool {
	return slices.ContainsFunc(s.Preflights, func(p event.Preflight) bool {
		return p.Verdict == event.PreflightFailed && p.Address == address
	})
}

// InProgress lists the steps in progress, the longest first.
func (s *State) InProgress() []*running {
	return slices.SortedFunc(maps.Values(s.running), func(a, b *running) int {
		return cmp.Or(a.Time.Compare(b.Time), board.CompareNames(a.Address, b.Address))
	})
}
