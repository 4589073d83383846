package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// tailLines is how many of a step's last lines are kept to explain a failure, and
// failureLines how many of them are shown of a step that is no agent.
const tailLines, failureLines = 60, 5

// State is what a sequence of events amounts to. It is the model behind the
// live view and the summary; it is not safe for concurrent use.
type State struct {
	Start    event.RunStarted
	Started  time.Time
	Finish   *event.RunFinished
	Counts   map[event.Status]int
	Failures []Failure
	Warnings []event.Warning
	Outputs  []event.OutputValue
	// Publishing is the path that results are laid out at, if that takes long, and
	// Published are those where they are.
	Publishing *publishing
	Published  []event.Published
	// Preflights are what was found out before the first step; Preflighted
	// says that all of it is there.
	Preflights  []event.Preflight
	Preflighted bool
	// Attempts are the attempts of agents that gave a result, now or before.
	Attempts conditions.Tally
	// Outcomes are how those attempts ended and what grading made of them.
	Outcomes Outcomes

	// Grades are the scores so far; nil if nobody reads them.
	Grades *Grades

	// Waiting is what steps wait for that could start otherwise, and Expected
	// when the run ends.
	Waiting  []event.Wait
	Expected event.ExpectedEnd

	// order are the step blocks in dependency order, blocks the same by name.
	order   []*blockCounts
	blocks  map[string]*blockCounts
	running map[string]*running
	tails   map[string][]string
	// paid is what attempts have paid for models, by address.
	paid map[string]int64
}

// running is an attempt under way.
type running struct {
	event.StepStarted
	Progress event.StepProgress
	// Phase is what part of its work an agent's attempt is in.
	Phase step.Phase
	// Rate is how fast Progress grows.
	Rate rate
	// Space is what the attempt waits for, if it waits for disk space.
	Space *event.StepWaiting
	// Line is the last line that it printed.
	Line string
	// Job is how its job on a cluster is doing; nil if it has none.
	Job *event.StepJob
	// Waiting says that the last attempt failed and the next one is awaited.
	Waiting *event.StepRetry
}

// Failure is a step that failed permanently, with the last lines it wrote.
type Failure struct {
	event.StepFinished
	Tail []string
}

// NewState returns the state before any event.
func NewState() *State {
	return &State{Counts: map[event.Status]int{}, blocks: map[string]*blockCounts{}, running: map[string]*running{}, tails: map[string][]string{}, paid: map[string]int64{}}
}

// Apply takes in one event, with its texts made fit to be shown.
func (s *State) Apply(e event.Event) { s.apply(cleaned(e)) }

// apply is Apply for an event that was cleaned.
func (s *State) apply(e event.Event) {
	switch e := e.(type) {
	case event.RunStarted:
		s.Start, s.Started = e, e.Time
		for _, b := range e.Blocks {
			s.block(b.Block).Steps = b.Steps
		}
	case event.StepStarted:
		if s.running[e.Address] == nil {
			s.block(blockOf(e.Address)).Running++
		}
		s.running[e.Address] = &running{StepStarted: e}
	case event.StepProgress:
		if r := s.running[e.Address]; r != nil {
			r.Progress, r.Space = e, nil
			r.Rate.add(e)
		}
	case event.StepJob:
		if r := s.running[e.Address]; r != nil {
			r.Job = &e
		}
	case event.StepPhase:
		if r := s.running[e.Address]; r != nil {
			r.phase(e)
		}
		if e.Cost > 0 {
			s.paid[e.Address] = e.Cost
		}
	case event.Waiting:
		s.Waiting = e.For
	case event.ExpectedEnd:
		s.Expected = e
	case event.StepLog:
		s.log(e)
	case event.StepWaiting:
		if r := s.running[e.Address]; r != nil {
			r.Space = &e
		}
	case event.Preflight:
		s.Preflights = append(s.Preflights, e)
	case event.PreflightFinished:
		s.Preflighted = true
	case event.StepRetry:
		if r := s.running[e.Address]; r != nil {
			r.Waiting = &e
		}
	case event.StepFinished:
		s.finish(e)
	case event.RunFinished:
		s.Finish = &e
	case event.OutputValue:
		s.Outputs = append(s.Outputs, e)
	case event.Publishing:
		if s.Publishing == nil {
			s.Publishing = &publishing{}
		}
		s.Publishing.add(e)
	case event.Published:
		s.Publishing = nil
		s.Published = append(s.Published, e)
	case event.Warning:
		s.Warnings = append(s.Warnings, e)
	}
}

// Paid is what the attempts of the run have paid for models, in billionths of a US
// dollar.
func (s *State) Paid() (sum int64) {
	for _, cost := range s.paid {
		sum += cost
	}
	return sum
}

func (s *State) log(e event.StepLog) {
	tail := append(s.tails[e.Address], e.Line[:min(len(e.Line), lineBytes)])
	if len(tail) > tailLines {
		tail = slices.Delete(tail, 0, len(tail)-tailLines)
	}
	s.tails[e.Address] = tail
	if r := s.running[e.Address]; r != nil && e.Line != "" && !strings.HasPrefix(e.Line, step.NotePrefix) {
		r.Line = e.Line
	}
}

// phase takes in what part of its work an attempt is in.
func (r *running) phase(e event.StepPhase) {
	r.Phase, r.Space = e.Phase, nil
	if e.TotalBytes > 0 {
		r.Rate.add(event.StepProgress{At: e.At, Progress: step.Progress{What: string(e.Name) + e.What, Done: e.Bytes, Total: e.TotalBytes, Unit: "bytes"}})
	}
}

func (s *State) finish(e event.StepFinished) {
	s.Counts[e.Status]++
	b := s.block(blockOf(e.Address))
	b.Counts[e.Status]++
	if s.running[e.Address] != nil {
		b.Running--
	}
	if e.Status == event.Ran || e.Status == event.Cached {
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

// refused says that the preflight told why a step is not started.
func (s *State) refused(address string) bool {
	return slices.ContainsFunc(s.Preflights, func(p event.Preflight) bool {
		return p.Verdict == event.PreflightFailed && p.Address == address
	})
}

// Done returns the number of steps that have ended in whatever way.
func (s *State) Done() int {
	n := 0
	for _, count := range s.Counts {
		n += count
	}
	return n
}

// running lists the attempts under way, the longest running first.
func (s *State) Running() []*running {
	out := make([]*running, 0, len(s.running))
	for _, r := range s.running {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *running) int {
		return cmp.Or(a.Time.Compare(b.Time), board.CompareNames(a.Address, b.Address))
	})
	return out
}
