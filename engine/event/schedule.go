package event

import "time"

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

// EventType implements Event.
func (Waiting) EventType() string { return "waiting" }

// EventType implements Event.
func (ExpectedEnd) EventType() string { return "expected_end" }
