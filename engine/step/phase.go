package step

import (
	"time"

	"github.com/mleflow/mleflow/cache"
)

// Phase is the current phase of an agent's attempt. What is not known is zero.
type Phase struct {
	Name PhaseName `json:"phase"`
	// What is what Bytes are counted of while the attempt starts.
	What string `json:"what,omitempty"`
	// Files and Bytes are what is done, TotalFiles and TotalBytes what there is to
	// do in total.
	Files      int64 `json:"files,omitempty"`
	TotalFiles int64 `json:"total_files,omitempty"`
	Bytes      int64 `json:"bytes,omitempty"`
	TotalBytes int64 `json:"total_bytes,omitempty"`
	// Started is when the agent was started, perhaps by an earlier run, and
	// LimitMillis the time it has from then on.
	Started     time.Time `json:"started,omitzero"`
	LimitMillis int64     `json:"limit_ms,omitempty"`
	// MemoryBytes is the memory that the agent and all its processes use now.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// Submission is what is known about the file that will be graded, and Reason
	// why it is invalid.
	Submission Submission `json:"submission,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	Spent
	Kept
}

// Kept is where to find, on the machine of the attempt, what it has kept so far.
type Kept struct {
	// Transcript is the key of the cache's kept folder in whose folder "transcript"
	// the exchanges with models are written.
	Transcript string `json:"transcript,omitempty"`
	// Code is the last copy of its code, a tree.
	Code cache.Ref `json:"code,omitzero"`
}

// Spent is what an attempt has used of its models so far: requests, input and
// output tokens, and what was paid, in billionths of a US dollar. Answers from
// recordings cost nothing.
type Spent struct {
	Requests int64 `json:"requests,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
	Cost     int64 `json:"cost_nanodollars,omitempty"`
}

// PhaseName names a phase.
type PhaseName string

// The phases of an attempt of an agent, in their order.
const (
	// Placing: its folders are created and its data placed.
	Placing PhaseName = "placing"
	// Starting: its image, its servers and its container are prepared.
	Starting PhaseName = "starting"
	// Running: it runs.
	Running PhaseName = "running"
	// Harvesting: it has ended, and its results are stored.
	Harvesting PhaseName = "harvesting"
)

// Submission is the state of a submission, as seen from outside while its agent
// runs.
type Submission string

// What a submission can be.
const (
	// SubmissionNone: there is none yet.
	SubmissionNone Submission = "none"
	// SubmissionUnchecked: there is one, which is being written, is too large to
	// be read, or cannot be checked.
	SubmissionUnchecked Submission = "unchecked"
	// SubmissionValid: its form is right.
	SubmissionValid Submission = "valid"
	// SubmissionInvalid: its form is wrong.
	SubmissionInvalid Submission = "invalid"
)

// Turn reports whether p is more than progress in the previous phase: another
// phase or part of it, another state of the submission, or something that was kept.
func (p Phase) Turn(before Phase) bool {
	return p.Name != before.Name || p.What != before.What || p.Submission != before.Submission || p.Reason != before.Reason || p.Kept != before.Kept || !p.Started.Equal(before.Started)
}
