package step

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
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

type mismatchError struct{ err error }

func (e mismatchError) Error() string        { return e.err.Error() }
func (e mismatchError) Unwrap() error        { return e.err }
func (e mismatchError) Is(target error) bool { return target == ErrMismatch }

// Mismatch marks err as caused by content that does not match a pin.
func Mismatch(err error) error { return mismatchError{err} }

type retryableError struct {
	err   error
	after time.Duration
}

func (e retryableError) Error() string { return e.err.Error() }
func (e retryableError) Unwrap() error { return e.err }

// Retryable marks err as temporary. The engine may retry after at least the
// given time (0: the engine's own back-off).
func Retryable(err error, after time.Duration) error { return retryableError{err, after} }

// IsRetryable reports whether err was marked by Retryable. It also returns the
// requested wait.
func IsRetryable(err error) (after time.Duration, ok bool) {
	if r, ok := errors.AsType[retryableError](err); ok {
		return r.after, true
	}
	return 0, false
}
