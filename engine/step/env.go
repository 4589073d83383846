package step

import (
	"errors"
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

// Env is the world of one attempt.
type Env struct {
	// Address and Attempt (from 1) identify the attempt.
	Address string
	Attempt int
	// Store is the cache. Outputs are ingested here before Run returns.
	Store cache.Cache
	// WorkDir is an empty folder on the cache's file system, private to the
	// attempt and removed after it.
	WorkDir string
	// Log takes what the step or its processes print; the engine keeps it.
	Log io.Writer
	// Progress reports how far the work is; it may be called often and from
	// several goroutines.
	Progress func(Progress)
	// Phase reports what part of its work an attempt of an agent is in; it may
	// be called often and from several goroutines.
	Phase func(Phase)
	// Warn tells people something that does not stop the step.
	Warn func(message string)
	// Limits are the instance's limits, and Devices the GPUs leased to it,
	// by name.
	Limits  Limits
	Devices []string
	// RunID names the run, for labels on processes and containers.
	RunID string
}

// Progress is how far a step is. Total is 0 when unknown.
type Progress struct {
	What        string
	Done, Total int64
	// Unit is "bytes", "files", "rows" or "steps".
	Unit string
}

// ErrMismatch is the cause of errors that Mismatch makes.
var ErrMismatch = errors.New("mismatch")

type mismatchError struct{ err error }

func (e mismatchError) Error() string        { return e.err.Error() }
func (e mismatchError) Unwrap() error        { return e.err }
func (e mismatchError) Is(target error) bool { return target == ErrMismatch }

// Mismatch marks err as content that is not what a pin says.
func Mismatch(err error) error { return mismatchError{err} }

type retryableError struct {
	err   error
	after time.Duration
}

func (e retryableError) Error() string { return e.err.Error() }
func (e retryableError) Unwrap() error { return e.err }

// Retryable marks err as passing: the engine may try again, not before after
// has gone by (0: the engine's own back-off).
func Retryable(err error, after time.Duration) error { return retryableError{err, after} }

// IsRetryable reports whether err was marked by Retryable, and the wait that
// was asked for.
func IsRetryable(err error) (after time.Duration, ok bool) {
	var r retryableError
	if errors.As(err, &r) {
		return r.after, true
	}
	return 0, false
}
