package step

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mleflow/mleflow/cache"
)

// Limits are what an instance may use.
type Limits struct {
	// Timeout is the wall-clock limit of one attempt; 0 is none.
	Timeout time.Duration
	// CPUs and MemoryBytes are what the instance leases; 0 memory is
	// unlimited.
	CPUs        float64
	MemoryBytes int64
	// GPUs is the number of devices it leases.
	GPUs int
	// DiskBytes is the disk it reserves; 0 is none.
	DiskBytes int64
}

// Env is the environment of one attempt.
type Env struct {
	// Address and Attempt (from 1) identify the attempt.
	Address string
	Attempt int
	// Store is the cache. Outputs are ingested here before Run returns.
	Store cache.Cache
	// WorkDir is an empty folder on the cache's file system, private to the
	// attempt and removed after it.
	WorkDir string
	// Log receives what the step or its processes print.
	Log io.Writer
	// Progress reports the progress of the work; it may be called often and from
	// several goroutines.
	Progress func(Progress)
	// Phase reports the phase of an agent's attempt; it may be called often and
	// from several goroutines.
	Phase func(Phase)
	// Warn warns people about something that does not stop the step.
	Warn func(message string)
	// Provisional says that the result, which Run returns, is not final: something
	// outside the step explains it. cause is a word, as the value of a condition, and
	// why a sentence. The result is used and kept, and the next run executes the step
	// again.
	Provisional func(cause, why string)
	// Limits are the instance's limits, and Devices the GPUs leased to it,
	// by name.
	Limits  Limits
	Devices []string
	// RunID names the run, for labels on processes and containers.
	RunID string
}

// NotePrefix begins the lines of a log that Note wrote.
const NotePrefix = "mleflow: "

// Note writes a line of mleflow's own to a log that foreign code prints to, so
// that people can tell them apart.
func (e *Env) Note(format string, args ...any) {
	fmt.Fprintf(e.Log, NotePrefix+format+"\n", args...)
}

// Progress is the progress of a step. Total is 0 if unknown.
type Progress struct {
	// What names the current work, such as a file; it may be empty.
	What  string `json:"what,omitempty"`
	Done  int64  `json:"done"`
	Total int64  `json:"total,omitempty"`
	// Unit is "bytes", "files", "rows" or "steps".
	Unit string `json:"unit"`
	// Bytes is the size of what is done, if it is known and Unit is another, and
	// TotalBytes that of everything.
	Bytes      int64 `json:"bytes,omitempty"`
	TotalBytes int64 `json:"total_bytes,omitempty"`
}

// ErrMismatch is wrapped by errors that Mismatch makes.
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

// Retryable marks err as temporary: the engine may retry, at the earliest after
// the given time (0: the engine's own back-off).
func Retryable(err error, after time.Duration) error { return retryableError{err, after} }

// IsRetryable reports whether err was marked by Retryable, and the requested
// wait.
func IsRetryable(err error) (after time.Duration, ok bool) {
	var r retryableError
	if errors.As(err, &r) {
		return r.after, true
	}
	return 0, false
}
