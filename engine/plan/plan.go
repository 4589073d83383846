// Package plan is the model of what an apply will do: for every step
// instance run, cached or deferred, with the reasons. It is data only; the
// engine fills it, views print it, the ledger keeps it.
package plan

import (
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/step"
)

// Action is what will happen to an instance.
type Action string

// The actions.
const (
	// Run: the step will be executed.
	Run Action = "run"
	// Cached: its outputs are in the cache.
	Cached Action = "cached"
	// Deferred: it depends on a step that will run; the result of that step
	// decides whether this one runs or is cached.
	Deferred Action = "deferred"
)

// Reason says why an instance runs or is deferred. Field, From and To are set
// if an input changed; From is empty for a new input, To for a removed one.
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
	Name    string   `json:"address"`
	Kind    string   `json:"kind"`
	Action  Action   `json:"action"`
	Reasons []Reason `json:"reasons"`
	// ActionID is the hexadecimal key; empty while it is not yet decided.
	ActionID string `json:"action_id,omitempty"`
	// After lists the indexes (in Plan.Steps) of the instances this one
	// depends on, ascending.
	After []int `json:"after,omitempty"`
	// ExpectedMillis is how long it took last time, 0 if unknown.
	ExpectedMillis int64 `json:"expected_ms,omitempty"`
	// Conditions are the conditions of its results, as far as they are known
	// before it runs; see step.Conditioned.
	Conditions []string `json:"conditions,omitempty"`
	// Choices are what this machine chose for arguments that leave it to the
	// machine, as far as they are known.
	Choices []step.Choice `json:"choices,omitempty"`
	// Missing is what the step needs and this machine lacks, as far as it can tell;
	// nothing of a cached one.
	Missing []string `json:"missing,omitempty"`
	// On is where it runs if not on this machine; empty for a cached step. Unfit
	// is why no machine there has what it needs.
	On    string `json:"on,omitempty"`
	Unfit string `json:"unfit,omitempty"`
	// Estimate is the space it needs if it runs; nil if none.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Spending is what it may spend on models if it runs, as far as it is known.
	Spending []step.Spending `json:"spending,omitempty"`
}

// Plan is what an apply will do, in dependency order: every step comes after
// those it depends on.
type Plan struct {
	Pipeline string `json:"pipeline,omitempty"`
	Steps    []Step `json:"steps"`
	// Publish are the paths that results are written to after the run.
	Publish []Publication `json:"publish,omitempty"`
	// Forecast is the disk space that applying it needs; nil if it was not
	// requested.
	Forecast *Forecast `json:"forecast,omitempty"`
	// Copies is what is copied before steps start; nil if nothing, or if it was
	// not requested.
	Copies *Copies `json:"copies,omitempty"`
}

// Copies is content that steps must copy before they start.
type Copies struct {
	// Copies is how many there are, and Files and Bytes what they write; a file
	// system that shares blocks writes no bytes.
	Copies int   `json:"copies"`
	Files  int64 `json:"files"`
	Bytes  int64 `json:"bytes"`
	// Unknown is how many steps copy content that other steps have yet to make.
	Unknown int `json:"unknown,omitempty"`
	// Why is the reason, as half a sentence.
	Why string `json:"why"`
}

// Placing is what will happen to a path.
type Placing string

// The placings.
const (
	// Write: there is nothing yet.
	Write Placing = "write"
	// Replace: what mleflow published there before is replaced.
	Replace Placing = "replace"
	// Unchanged: the content is there.
	Unchanged Placing = "unchanged"
	// Undecided: it depends on a step that runs.
	Undecided Placing = "deferred"
	// Refused: there is something that mleflow did not write.
	Refused Placing = "refused"
)

// Publication is the plan for one path.
type Publication struct {
	// From is an address, an output of one, or output.NAME; To the path as it
	// was written.
	From    string  `json:"from"`
	To      string  `json:"to"`
	Placing Placing `json:"action"`
	// Text says why it is refused, or why it is undecided if there is another
	// reason than its step.
	Text string `json:"text,omitempty"`
}

// Counts is the number of steps by action.
type Counts struct{ Run, Cached, Deferred int }

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
		}
	}
	return c
}
