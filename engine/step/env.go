package step

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// Limits are the limits of an instance.
type Limits struct {
	// Timeout is the wall-clock limit of one try. 0 means no limit.
	Timeout time.Duration
	// CPUs and MemoryBytes are leased to the instance. Zero memory is
	// unlimited.
	CPUs        float64
	MemoryBytes int64
	// GPUs is the number of devices leased to it.
	GPUs int
	// DiskBytes is the disk space reserved for it. 0 means none.
	DiskBytes int64
}

// Env is the environment of one try.
type Env struct {
	// Address and Try (from 1) identify the try.
	Address string
	Try     int
	// Action is the key of the step.
	Action digest.ActionID
	// Store is the cache. Outputs must be in it before Run returns.
	Store cache.Cache
	// WorkDir is an empty folder on the cache's file system, private to the
	// try and removed after it.
	WorkDir string
	// Log receives the output of the step and its processes.
	Log io.Writer
	// Progress reports the progress of the work. It may be called often and
	// concurrently.
	Progress func(Progress)
	// Phase reports the phase of an agent's try. It may be called often and
	// concurrently.
	Phase func(Phase)
	// Warn warns people about something that does not stop the step.
	Warn func(message string)
	// Provisional marks the result that Run returns as not final, because of a
	// cause outside the step. cause is a word that serves as the value of a
	// condition. why is a sentence. The result is used and kept, and the next
	// run executes the step again, unless Provisional returns false: then it is
	// final, as cache.MaxSpoilt results before it were not.
	Provisional func(cause, why string) (again bool)
	// Resumed says how often the attempt has gone on from a checkpoint. It is a
	// condition of the result.
	Resumed func(times int)
	// SecretIn names the outputs that have the value of a secret, a condition of the
	// result.
	SecretIn func(outputs []string)
	// Requests delivers what people ask of the attempt; nil delivers nothing. Steered
	// says how it was steered, in words such as "stopped@3h12m", which are conditions of
	// the result.
	Requests <-chan Asked
	Steered  func(words []string)
	// Stalled reports that the attempt stands still, or works again.
	Stalled func(Stall)
	// Limits are the instance's limits. Devices are the names of the GPUs
	// leased to it.
	Limits  Limits
	Devices []string
	// RunID names the run, for labels on processes and containers.
	RunID string
}

// NotePrefix begins the log lines written by Note.
const NotePrefix = "mleflow: "

// Note writes one of mleflow's own lines to a log that also receives foreign
// output, so that people can tell them apart.
func (e *Env) Note(format string, args ...any) {
	fmt.Fprintf(e.Log, NotePrefix+format+"\n", args...)
}

// Progress is the progress of a step. Total is 0 if it is unknown.
type Progress struct {
	// What names the current work, such as a file. It may be empty.
	What  string `json:"what,omitempty"`
	Done  int64  `json:"done"`
	Total int64  `json:"total,omitempty"`
	// Unit is "bytes", "files", "rows" or "steps".
	Unit string `json:"unit"`
	// Bytes is the size of the finished part, if it is known and Unit is not
	// "bytes". TotalBytes is the size of everything.
	Bytes      int64 `json:"bytes,omitempty"`
	TotalBytes int64 `json:"total_bytes,omitempty"`
}

// ErrMismatch is wrapped by the errors of Mismatch.
var ErrMismatch = errors.New("mismatch")

type mismatchError struct{ error }

func (e mismatchError) Unwrap() error        { return e.error }
func (e mismatchError) Is(target error) bool { return target == ErrMismatch }

// Mismatch marks err as caused by content that does not match a pin.
func Mismatch(err error) error { return mismatchError{err} }

type retryableError struct {
	error
	after time.Duration
}

func (e retryableError) Unwrap() error { return e.error }

// Retryable marks err as temporary. The engine may retry after at least the
// given time (0: the engine's own back-off).
func Retryable(err error, after time.Duration) error { return retryableError{err, after} }

// IsRetryable reports whether err was marked by Retryable. It also returns the
// requested wait.
func IsRetryable(err error) (after time.Duration, ok bool) {
	r, ok := errors.AsType[retryableError](err)
	return r.after, ok
}

// Follow reports the progress of work, and the end of each of its parts, until
// the returned function is called. It must be called before the work begins.
func (e *Env) Follow(w *progress.Work) (stop func()) {
	return progress.Follow(w, func(s progress.State) { e.Progress(ProgressOf(s)) })
}

// ProgressOf returns the progress of work in files or, if there are none, in
// bytes.
func ProgressOf(s progress.State) Progress {
	if s.Files == 0 && s.TotalFiles == 0 {
		return Progress{What: s.What, Done: s.Bytes, Total: s.TotalBytes, Unit: "bytes"}
	}
	return Progress{What: s.What, Done: s.Files, Total: s.TotalFiles, Unit: "files", Bytes: s.Bytes, TotalBytes: s.TotalBytes}
}

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
	// ModelMillis is the time of this try in which a request was under way.
	ModelMillis int64 `json:"model_ms,omitempty"`
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

// ParseSize parses a size in an argument of a kind, such as "4GiB". The empty
// string is 0.
func ParseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not a size above 0, such as \"4GiB\"", text)
	}
	return n, nil
}

// ParseBytes reads a number of bytes with a decimal or binary unit, in either
// case, or with none: "500MB", "1.5TiB", "1024".
func ParseBytes(s string) (int64, error) {
	n, err := humanize.ParseBytes(s)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size; write a size such as 500GiB or 2TB", s)
	}
	return int64(n), nil
}
