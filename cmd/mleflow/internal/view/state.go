package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// TailLines is the number of a step's last lines that are kept to explain a failure.
// failureLines is the number of them that are shown for a step that is no agent.
const TailLines, failureLines = 60, 5

// State is the state of a run after a sequence of events, the model behind the live view
// and the summary. It is not safe for concurrent use.
type State struct {
	Start    event.RunStarted
	Started  time.Time
	Finish   *event.RunFinished
	Counts   map[event.Status]int
	Failures []Failure
	Warnings []event.Warning
	Outputs  []event.OutputValue
	// Evaluation is the last state of the run's evaluation; nil without one.
	Evaluation *plan.Evaluation
	// Publishing is the path at which results are being laid out, if that takes long;
	// Published are the finished paths.
	Publishing *publishing
	Published  []event.Published
	// Preflights are the findings before the first step; Preflighted reports whether they
	// are complete.
	Preflights  []event.Preflight
	Preflighted bool
	// Attempts are the agents' attempts with a result, run or cached.
	Attempts conditions.Tally
	// Outcomes are the outcomes of those attempts and of their grading.
	Outcomes Outcomes

	// Grades are the present scores; nil if the view shows none.
	Grades *Grades

	// Waiting are the resources that ready steps wait for; Expected is the expected end
	// of the run.
	Waiting  []event.Wait
	Expected event.ExpectedEnd

	// order are the step blocks in dependency order, blocks the same by name.
	order   []*blockCounts
	blocks  map[string]*blockCounts
	running map[string]*running
	tails   map[string][]string
	// paid is the cost of models by the attempt's address.
	paid map[string]int64
}

// running is a running attempt.
type running struct {
	event.StepStarted
	Progress event.StepProgress
	// Phase is the phase of an agent's attempt.
	Phase step.Phase
	// Rate is the speed at which Progress grows.
	Rate rate
	// Space is the disk space that the attempt waits for, if any.
	Space *event.StepWaiting
	// Line is the last line of its output.
	Line string
	// Job is the state of its job on a cluster; nil if it has none.
	Job *event.StepJob
	// Waiting reports whether the last attempt failed and the next one is due.
	Waiting *event.StepRetry
}

// Failure is a step that failed permanently, with the last lines of its output.
type Failure struct {
	event.StepFinished
	Tail []string
}

// NewState returns the state before any event.
func NewState() *State {
	return &State{Counts: map[event.Status]int{}, blocks: map[string]*blockCounts{}, running: map[string]*running{}, tails: map[string][]string{}, paid: map[string]int64{}}
}

// Apply applies one event, whose strings it makes safe to show.
func (s *State) Apply(e event.Event) { s.apply(cleaned(e)) }

// apply is Apply for a cleaned event.
func (s *State) apply(e event.Event) {
	switch e := e.(type) {
	case event.RunStarted:
		s.Start, s.Started = e, e.Time
		for _, b := range e.Blocks {
			s.block(b.Block).Steps = b.Steps
		}
	case event.StepStarted:
		if s.running[e.Address] == nil {
			s.block(BlockOf(e.Address)).Running++
		}
		s.running[e.Address] = &running{StepStarted: e}
	case event.StepProgress:
		if r := s.running[e.Address]; r.works() {
			r.Progress, r.Space = e, nil
			r.Rate.add(e)
		}
	case event.StepJob:
		if r := s.running[e.Address]; r != nil {
			r.job(e)
		}
	case event.StepPhase:
		if r := s.running[e.Address]; r.works() {
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
	case event.Evaluated:
		s.Evaluation = &e.Evaluation
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

// job stores the state of an attempt's job. What its last worker told ends with that
// worker.
func (r *running) job(e event.StepJob) {
	if last := r.Job; last != nil && (e.State != event.JobRunning || e.Node != last.Node || e.Starts != last.Starts) {
		r.Phase, r.Progress, r.Rate, r.Space = step.Phase{}, event.StepProgress{}, rate{}, nil
	}
	r.Job = &e
}

// works reports whether what a worker told of the attempt is still true: events of a lost
// worker come late.
func (r *running) works() bool {
	return r != nil && (r.Job == nil || r.Job.State == event.JobRunning || r.Job.Starts == 0)
}

// phase stores the phase of an attempt.
func (r *running) phase(e event.StepPhase) {
	r.Phase, r.Space = e.Phase, nil
	if e.TotalBytes > 0 {
		r.Rate.add(event.StepProgress{At: e.At, Progress: step.Progress{What: string(e.Name) + e.What, Done: e.Bytes, Total: e.TotalBytes, Unit: "bytes"}})
	}
}

func (s *State) finish(e event.StepFinished) {
	s.Counts[e.Status]++
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

// Done returns the number of steps that are done; see event.Done.
func (s *State) Done() int { return event.Done(s.Counts) }

// running lists the running attempts, the longest first.
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
