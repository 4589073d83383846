package event

import "time"

// Block is a step block of a run and its number of instances.
type Block struct {
	Block string `json:"block"`
	Steps int    `json:"steps"`
}

// Waiting says which resources steps wait for that could start otherwise. It
// replaces the previous one; an empty one means that nothing waits any more.
type Waiting struct {
	At
	For []Wait `json:"for"`
}

// Wait is a resource that steps wait for.
type Wait struct {
	// Resource is "cpu", "memory", "disk", "gpu" or "slots", whose number
	// --parallelism limits.
	Resource string `json:"resource"`
	// Steps is how many wait for it, and Next the first of them.
	Steps int    `json:"steps"`
	Next  string `json:"next"`
	// Holders is how many steps of this run hold it. Elsewhere says that other
	// processes hold what is missing.
	Holders   int  `json:"holders"`
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// ExpectedEnd is when the run is expected to end, judging by earlier durations
// of its steps. It replaces the previous one.
type ExpectedEnd struct {
	At
	// End is zero if nothing is known.
	End time.Time `json:"end,omitzero"`
	// Unknown is the number of coming steps about which nothing is known; they
	// count as if they took no time.
	Unknown int `json:"unknown,omitempty"`
}

// EventType implements Event.
func (Waiting) EventType() string { return "waiting" }

// EventType implements Event.
func (ExpectedEnd) EventType() string { return "expected_end" }
