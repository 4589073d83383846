// Package plan is the model of an apply: for every step instance, whether it
// will run, is cached or is deferred, with the reasons. It contains only data.
// The engine fills it, views print it, and the run history stores it.
package plan

import (
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/step"
)

// Action is the predicted outcome for an instance.
type Action string

// The actions.
const (
	// Run: the step will be executed.
	Run Action = "run"
	// Cached: its outputs are in the cache.
	Cached Action = "cached"
	// Deferred: it depends on a step that will run. The result of that step
	// decides whether this one runs or is cached.
	Deferred Action = "deferred"
	// Unneeded: the pipeline's evaluation ended without it, so it does not run.
	Unneeded Action = "unneeded"
)

// Reason explains why an instance runs or is deferred. Field, From and To are
// set if an input changed. From is empty for a new input, To for a removed one.
type Reason struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
	// Text is the whole reason as a phrase for people.
	Text string `json:"text"`
}

// Step is the plan for one instance.
type Step struct {
	Address addr.Instance `json:"-"`
	// Name is Address as a string.
	Name string `json:"address"`
	Kind string `json:"kind"`
	// Names are agent, competition and seed of an attempt or its grading, unless they are
	// the parts of its key; see step.Kind.
	Names []string `json:"names,omitempty"`
	// Agent is the name of the agent that it runs, or "".
	Agent   string   `json:"-"`
	Action  Action   `json:"action"`
	Reasons []Reason `json:"reasons"`
	// ActionID is the key in hexadecimal, or "" while it is undecided.
	ActionID string `json:"action_id,omitempty"`
	// After has the indexes in Plan.Steps of the instances on which this one
	// depends, in ascending order.
	After []int `json:"after,omitempty"`
	// ExpectedMillis is its previous duration, or 0 if unknown.
	ExpectedMillis int64 `json:"expected_ms,omitempty"`
	// Conditions are the known conditions of its results; see step.Conditioned.
	Conditions []string `json:"conditions,omitempty"`
	// Choices are this machine's known choices for arguments that leave the
	// choice to the machine.
	Choices []step.Choice `json:"choices,omitempty"`
	// Missing lists known requirements of the step that this machine does not
	// meet. It is empty for a cached step.
	Missing []string `json:"missing,omitempty"`
	// Unmasked lists the secrets of the step that cannot be masked, because they are
	// words. It is empty for a cached step.
	Unmasked []string `json:"unmasked,omitempty"`
	// OnLoss says what becomes of the step if its machine is lost; "" means that it
	// starts from the beginning.
	OnLoss string `json:"on_loss,omitempty"`
	// On is the place where it runs, or "" for this machine or a cached step.
	// Unfit explains why no machine there meets its needs.
	On    string `json:"on,omitempty"`
	Unfit string `json:"unfit,omitempty"`
	// Estimate is the space that it needs if it runs, or nil.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Spending is its known possible spending on models.
	Spending []step.Spending `json:"spending,omitempty"`
}

// Plan predicts an apply, in dependency order: every step comes after its
// dependencies.
type Plan struct {
	Pipeline string `json:"pipeline,omitempty"`
	Steps    []Step `json:"steps"`
	// Publish has the paths to which results are written after the run.
	Publish []Publication `json:"publish,omitempty"`
	// Evaluation is the pipeline's evaluation, or nil if it has none.
	Evaluation *Evaluation `json:"evaluation,omitempty"`
	// Forecast is the disk space that an apply needs, or nil if it was not
	// requested.
	Forecast *Forecast `json:"forecast,omitempty"`
	// Copies are the copies made before steps start. It is nil if there are
	// none or they were not requested.
	Copies *Copies `json:"copies,omitempty"`
}

// Copies describes content that steps must copy before they start.
type Copies struct {
	// Copies is the number of copies. Files and Bytes are the amounts to write.
	// A file system that shares blocks writes no bytes.
	Copies int   `json:"copies"`
	Files  int64 `json:"files"`
	Bytes  int64 `json:"bytes"`
	// Unknown is the number of steps that copy content which does not exist
	// yet.
	Unknown int `json:"unknown,omitempty"`
	// Why is the reason, as half a sentence.
	Why string `json:"why"`
}

// Placing is the predicted effect on a path.
type Placing string

// The placings.
const (
	// Write: the path is empty.
	Write Placing = "write"
	// Replace: content that mleflow published there before is replaced.
	Replace Placing = "replace"
	// Unchanged: the path already has the content.
	Unchanged Placing = "unchanged"
	// Undecided: it depends on a step that runs.
	Undecided Placing = "deferred"
	// Refused: the path has content that mleflow did not write.
	Refused Placing = "refused"
)

// Publication is the plan for one path.
type Publication struct {
	// From is an address, an output of one, or output.NAME. To is the path as
	// written in the pipeline.
	From    string  `json:"from"`
	To      string  `json:"to"`
	Placing Placing `json:"action"`
	// Text explains a refusal. It also explains an undecided publication if the
	// cause is not its step.
	Text string `json:"text,omitempty"`
}

// Counts are the numbers of steps by action.
type Counts struct{ Run, Cached, Deferred, Unneeded int }

// Counts counts the steps by action.
func (p *Plan) Counts() Counts {
	var c Counts
	for i := range p.Steps {
		switch p.Steps[i].Action {
		case Run:
			c.Run++
		case Cached:
			c.Cached++
		case Deferred:
			c.Deferred++
		case Unneeded:
			c.Unneeded++
		}
	}
	return c
}
