package step

import "time"

// Signs says when an attempt last gave each sign of work. A sign that it never gave is
// zero.
type Signs struct {
	// Model is the last request to a model under way.
	Model time.Time `json:"model,omitzero"`
	// Processor is the last use of a processor or GPU.
	Processor time.Time `json:"processor,omitzero"`
	// File is the last change of a file in its folders.
	File time.Time `json:"file,omitzero"`
	// Log is the last output.
	Log time.Time `json:"log,omitzero"`
}

// Stall says that an attempt stands still, or that it works again.
type Stall struct {
	// Since is the last sign of work, or the start of the agent if it gave none.
	Since    time.Time `json:"since"`
	Evidence Signs     `json:"evidence"`
	// Act is what the pipeline asks to follow, or "" if nothing should.
	Act Act `json:"act,omitempty"`
	// Over means that the attempt works again.
	Over bool `json:"over,omitempty"`
}

// OnStall is the author of the requests that follow from a stall.
const OnStall = "mleflow (on_stall)"

// MostRequeued is how often a stalled attempt is put back into the queue, over all applies.
const MostRequeued = 2

// The words of Env.Steered for an attempt that a stall ended, as a prefix of "@TIME", and
// for one that a stall put back.
const (
	Stalled         = "stalled"
	RequeuedStalled = "requeued_stalled"
)

// ByStall reports whether a word says that a stall steered the attempt, not a person.
func ByStall(word string) bool {
	return word == RequeuedStalled || len(word) > len(Stalled) && word[:len(Stalled)+1] == Stalled+"@"
}
