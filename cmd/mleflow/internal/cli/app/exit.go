package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// The exit statuses of the process.
const (
	exitOK          = 0
	ExitFailed      = 1
	exitUsage       = 2
	exitMismatch    = 3
	exitInvalid     = 4
	exitClaimed     = 5
	exitFindings    = 6
	exitInterrupted = 130
)

// ErrSilent is joined to errors that the person has been told of already.
var ErrSilent = errors.New("already reported")

// ErrInvalidSubmission says that a submission cannot be scored.
var ErrInvalidSubmission = errors.New("invalid submission")

// ErrClaimed says that a bundle is intact, and that not all of its scores were
// recomputed.
var ErrClaimed = errors.New("checked, but not everything was recomputed")

// ErrFindings says that a board was built in which a person should look at
// something.
var ErrFindings = errors.New("the board was built, but not everything is as it should be")

// UsageError is wrong use of the command line.
type UsageError struct{ err error }

func (e UsageError) Error() string { return e.err.Error() }
func (e UsageError) Unwrap() error { return e.err }

// Usagef makes an error of wrong usage.
func Usagef(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}

// DiagError carries diagnostics up to where they are shown.
type DiagError struct {
	List  diag.List
	files diag.Sources
}

func (e *DiagError) Error() string { return e.List.Error() }

// Unwrap returns what the world did, if that is what the diagnostics tell.
func (e *DiagError) Unwrap() error { return diag.Cause(e.List) }

// Checked returns the list as an error if it holds one.
func Checked(list diag.List, files diag.Sources) error {
	if !list.HasErrors() {
		return nil
	}
	return &DiagError{List: list, files: files}
}

// ExitStatus maps the outcome of a command to the status of the process. It
// is the only place that does.
func ExitStatus(err error) int {
	var usage UsageError
	var diags *DiagError
	var child StatusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &child):
		return child.Status
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &diags) && diag.Cause(diags.List) == nil:
		return exitUsage
	case errors.Is(err, step.ErrMismatch):
		return exitMismatch
	case errors.Is(err, ErrInvalidSubmission):
		return exitInvalid
	case errors.Is(err, ErrClaimed):
		return exitClaimed
	case errors.Is(err, ErrFindings):
		return exitFindings
	default:
		return ExitFailed
	}
}

// Wrong says that an error is a mistake in the command line, if it is no mismatch.
func Wrong(err error) error {
	if err == nil || errors.Is(err, step.ErrMismatch) {
		return err
	}
	return UsageError{err}
}

// StatusError is the exit status of a process that has told the rest itself.
type StatusError struct{ Status int }

func (e StatusError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }
