package event

import "time"

// Block is a step block of a run and its number of instances.
type Block struct {
	Block string `json:"block"`
	Steps int    `json:"steps"`
}

// Waiting says what steps wait for that could start otherwise. It replaces the
// one before it; without members nothing waits any more.
type Waiting struct {
	At
	For []Wait `json:"for"`
}

// Wait is a resource that steps wait for.
type Wait struct {
	// Resource is "cpu", "memory", "disk", "gpu" or "slots", of which
	// --parallelism says how many there are.
	Resource string `json:"resource"`
	// Steps is how many wait for it, and Next the first of them.
	Steps int    `json:"steps"`
	Next  string `json:"next"`
	// Holders is how many steps of this run hold it. Elsewhere says that what
	// is missing is held by other processes.
	Holders   int  `json:"holders"`
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// ExpectedEnd says when the run is expected to end, by how long steps took
// before. It replaces the one before it.
type ExpectedEnd struct {
	At
	// End is zero where nothing is known.
	End time.Time `json:"end,omitzero"`
	// Unknown is how many steps are to come of which nothing is known; they are
	// counted as if they took no time.
	Unknown int `json:"unknown,omitempty"`
}

// EventType implements Event.
func (Waiting) EventType() string { return "waiting" }

// EventType implements Event.
func (ExpectedEnd) EventType() string { return "expected_end" }
