package event

import (
	"time"

	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// Run is the state of a run after a sequence of events, apart from the histories
// of its steps. The zero value is the state before any event. It is not safe for
// concurrent use.
type Run struct {
	// Start is zero before the run starts, or if it was killed before that.
	Start RunStarted
	// End is nil before the run ends.
	End *RunFinished
	// Last is the time of the last event.
	Last time.Time
	// Counts are the numbers of ended instances by status.
	Counts   map[Status]int
	Warnings []Warning
	Outputs  []OutputValue
	// Evaluation is the last state of the run's evaluation, or nil without one.
	Evaluation *plan.Evaluation
	// Preflights are the findings before the first step. Surveyed, which closes
	// them, is zero before.
	Preflights []Preflight
	Surveyed   PreflightFinished
	// Publishing is the path to which results are being written, if that takes
	// long. Published are the finished paths.
	Publishing *Publishing
	Published  []Published
	// Steered are the answers to what people asked of the run.
	Steered []Steered
	// Waiting are the resources for which ready steps wait. Expected is the
	// expected end of the run.
	Waiting  []Wait
	Expected ExpectedEnd
	// Running are the instances in progress by address.
	Running map[string]*Execution
}

// Execution is the current try of an instance.
type Execution struct {
	StepStarted
	Progress StepProgress
	// Phase is the phase of an agent's attempt.
	Phase step.Phase
	// Space is what it waits for, if anything.
	Space *StepWaiting
	// Job is the state of its job on a cluster, or nil if it has none.
	Job *StepJob
	// Retry is set if the try failed and the next one is due.
	Retry *StepRetry
	// Stalled is set while it stands still.
	Stalled *step.Stall
}

// Done returns the number of instances that are done; see the function Done.
func (r *Run) Done() int { return Done(r.Counts) }

// Apply applies the next event.
func (r *Run) Apply(e Event) {
	if e.When().After(r.Last) { // events of workers come late
		r.Last = e.When()
	}
	switch e := e.(type) {
	case RunStarted:
		r.Start = e
	case Steered:
		r.Steered = append(r.Steered, e)
	case StepStarted:
		if r.Running == nil {
			r.Running = map[string]*Execution{}
		}
		r.Running[e.Address] = &Execution{StepStarted: e}
	case StepProgress:
		if t := r.Running[e.Address]; t.works() {
			t.Progress, t.Space = e, nil
		}
	case StepPhase:
		if t := r.Running[e.Address]; t.works() {
			t.Phase, t.Space = e.Phase, nil
		}
	case StepJob:
		if t := r.Running[e.Address]; t != nil {
			t.job(e)
		}
	case StepWaiting:
		if t := r.Running[e.Address]; t != nil {
			t.Space = &e
		}
	case StepRetry:
		if t := r.Running[e.Address]; t != nil {
			t.Retry, t.Stalled = &e, nil
		}
	case Stalled:
		if t := r.Running[e.Address]; t.works() {
			if t.Stalled = &e.Stall; e.Over {
				t.Stalled = nil
			}
		}
	case StepFinished:
		if r.Counts == nil {
			r.Counts = map[Status]int{}
		}
		r.Counts[e.Status]++
		delete(r.Running, e.Address)
	default:
		r.applyOwn(e)
	}
}

// applyOwn applies an event that is not about a step.
func (r *Run) applyOwn(e Event) {
	switch e := e.(type) {
	case Waiting:
		r.Waiting = e.For
	case ExpectedEnd:
		r.Expected = e
	case Preflight:
		r.Preflights = append(r.Preflights, e)
	case PreflightFinished:
		r.Surveyed = e
	case Evaluated:
		r.Evaluation = &e.Evaluation
	case OutputValue:
		r.Outputs = append(r.Outputs, e)
	case Publishing:
		r.Publishing = &e
	case Published:
		r.Publishing = nil
		r.Published = append(r.Published, e)
	case Warning:
		r.Warnings = append(r.Warnings, e)
	case RunFinished:
		r.End = &e
	}
}

// job stores the state of the job. What its last worker reported ends with that
// worker.
func (t *Execution) job(e StepJob) {
	if last := t.Job; last != nil && (e.State != JobRunning || e.Node != last.Node || e.Starts != last.Starts) {
		t.Phase, t.Progress, t.Space, t.Stalled = step.Phase{}, StepProgress{}, nil, nil
	}
	t.Job = &e
}

// works reports whether reports of a worker are about this try: those of a lost
// worker come late.
func (t *Execution) works() bool {
	return t != nil && (t.Job == nil || t.Job.State == JobRunning || t.Job.Starts == 0)
}

// Block is a step block of a run and its number of instances.
type Block struct {
	Block string `json:"block"`
	Steps int    `json:"steps"`
}

// Waiting lists the resources for which otherwise ready steps wait. It replaces
// the previous one. An empty list means that no step waits any more.
type Waiting struct {
	At
	For []Wait `json:"for"`
}

// Wait is a resource for which steps wait.
type Wait struct {
	// Resource is "cpu", "memory", "disk", "gpu" or "slots". The number of
	// slots is limited by --parallelism.
	Resource string `json:"resource"`
	// Steps is the number of waiting steps, and Next the first of them.
	Steps int    `json:"steps"`
	Next  string `json:"next"`
	// Holders is the number of this run's steps that hold it. Elsewhere means
	// that other processes hold the missing part.
	Holders   int  `json:"holders"`
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// ExpectedEnd is the expected end of the run according to earlier durations of
// its steps. It replaces the previous one.
type ExpectedEnd struct {
	At
	// End is zero if it is unknown.
	End time.Time `json:"end,omitzero"`
	// Unknown is the number of remaining steps with an unknown duration. They
	// count as zero.
	Unknown int `json:"unknown,omitempty"`
}
