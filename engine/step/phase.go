package step

import "time"

// Phase is a part of the work of an attempt of an agent. What is not known is
// zero.
type Phase struct {
	Name PhaseName `json:"phase"`
	// Files and Bytes are what is done of it, TotalFiles and TotalBytes all
	// there is to do.
	Files      int64 `json:"files,omitempty"`
	TotalFiles int64 `json:"total_files,omitempty"`
	Bytes      int64 `json:"bytes,omitempty"`
	TotalBytes int64 `json:"total_bytes,omitempty"`
	// Started is when the agent was started, perhaps by an earlier run, and
	// LimitMillis the time it has from then on.
	Started     time.Time `json:"started,omitzero"`
	LimitMillis int64     `json:"limit_ms,omitempty"`
	// MemoryBytes is what the agent and all that it started hold now.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// Submission is what is known of the file that will be graded, and Reason
	// why it is invalid.
	Submission Submission `json:"submission,omitempty"`
	Reason     string     `json:"reason,omitempty"`
}

// PhaseName names a phase.
type PhaseName string

// The phases of an attempt of an agent, in their order.
const (
	// Placing: its folders are made and its data placed.
	Placing PhaseName = "placing"
	// Starting: its image, its servers and its container are made ready.
	Starting PhaseName = "starting"
	// Running: it runs.
	Running PhaseName = "running"
	// Harvesting: it has ended, and what it left is taken into the store.
	Harvesting PhaseName = "harvesting"
)

// Submission is what was seen of a submission from outside while its agent
// runs.
type Submission string

// What a submission can be.
const (
	// SubmissionNone: there is none yet.
	SubmissionNone Submission = "none"
	// SubmissionUnchecked: there is one, which is being written, too large to be looked
	// at, or cannot be checked.
	SubmissionUnchecked Submission = "unchecked"
	// SubmissionValid: its form is right.
	SubmissionValid Submission = "valid"
	// SubmissionInvalid: its form is wrong.
	SubmissionInvalid Submission = "invalid"
)

// Turn reports whether p tells something other than how far the phase before it
// has come: another phase, or another state of the submission.
func (p Phase) Turn(before Phase) bool {
	return p.Name != before.Name || p.Submission != before.Submission || p.Reason != before.Reason || !p.Started.Equal(before.Started)
}
