package step

import (
	"time"

	"github.com/mleflow/mleflow/cache"
)

// Phase is the current phase of an agent's attempt. Unknown fields are zero.
type Phase struct {
	Name PhaseName `json:"phase"`
	// What names the content counted by Bytes while the attempt starts.
	What string `json:"what,omitempty"`
	// Files and Bytes are the finished amounts. TotalFiles and TotalBytes are
	// the total amounts.
	Files      int64 `json:"files,omitempty"`
	TotalFiles int64 `json:"total_files,omitempty"`
	Bytes      int64 `json:"bytes,omitempty"`
	TotalBytes int64 `json:"total_bytes,omitempty"`
	// Started is the start of the agent, perhaps by an earlier run. LimitMillis
	// is its time limit from then on.
	Started     time.Time `json:"started,omitzero"`
	LimitMillis int64     `json:"limit_ms,omitempty"`
	// MemoryBytes is the memory that the agent and all its processes use now.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// CPUMillis is the processor time that they have used.
	CPUMillis int64 `json:"cpu_ms,omitempty"`
	// GPUPercent is the mean use of its GPUs now, and GPUMemoryBytes the memory in use
	// on all of them.
	GPUPercent     int64 `json:"gpu_percent,omitempty"`
	GPUMemoryBytes int64 `json:"gpu_memory_bytes,omitempty"`
	// Submission is the state of the file that will be graded. Reason explains
	// why it is invalid.
	Submission Submission `json:"submission,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	Spent
	Kept
}

// Kept locates, on the machine of the attempt, the data that it has kept so
// far.
type Kept struct {
	// Transcript is a key of the cache's kept folder. The exchanges with models
	// are written to the folder "transcript" below it.
	Transcript string `json:"transcript,omitempty"`
	// Code is the last copy of the agent's code, a tree.
	Code cache.Ref `json:"code,omitzero"`
}

// Spent is an attempt's use of its models so far: requests, input and output
// tokens, and the paid amount in billionths of a US dollar. Answers from
// recordings cost nothing.
type Spent struct {
	Requests int64 `json:"requests,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
	Cost     int64 `json:"cost_nanodollars,omitempty"`
}

// PhaseName names a phase.
type PhaseName string

// The phases of an agent's attempt, in order.
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

// The states of a submission.
const (
	// SubmissionNone: there is none yet.
	SubmissionNone Submission = "none"
	// SubmissionUnchecked: there is one, but it is still being written, too
	// large to be read, or cannot be checked.
	SubmissionUnchecked Submission = "unchecked"
	// SubmissionValid: its form is valid.
	SubmissionValid Submission = "valid"
	// SubmissionInvalid: its form is invalid.
	SubmissionInvalid Submission = "invalid"
)

// Turn reports whether p is more than progress within the previous phase:
// another phase or part of it, another state of the submission, or newly kept
// data.
func (p Phase) Turn(before Phase) bool {
	return p.Name != before.Name || p.What != before.What || p.Submission != before.Submission || p.Reason != before.Reason || p.Kept != before.Kept || !p.Started.Equal(before.Started)
}
