package cli

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
	exitFailed      = 1
	exitUsage       = 2
	exitMismatch    = 3
	exitInvalid     = 4
	exitClaimed     = 5
	exitFindings    = 6
	exitInterrupted = 130
)

// errSilent is joined to errors that the person has been told of already.
var errSilent = errors.New("already reported")

// errInvalidSubmission says that a submission cannot be scored.
var errInvalidSubmission = errors.New("invalid submission")

// errClaimed says that a bundle is intact, and that not all of its scores were
// recomputed.
var errClaimed = errors.New("checked, but not everything was recomputed")

// errFindings says that a board was built in which a person should look at
// something.
var errFindings = errors.New("the board was built, but not everything is as it should be")

// usageError is wrong use of the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// diagError carries diagnostics up to where they are shown.
type diagError struct {
	list  diag.List
	files diag.Sources
}

func (e *diagError) Error() string { return e.list.Error() }

// Unwrap returns what the world did, if that is what the diagnostics tell.
func (e *diagError) Unwrap() error { return diag.Cause(e.list) }

// checked returns the list as an error if it holds one.
func checked(list diag.List, files diag.Sources) error {
	if !list.HasErrors() {
		return nil
	}
	return &diagError{list: list, files: files}
}

// exitStatus maps the outcome of a command to the status of the process. It
// is the only place that does.
func exitStatus(err error) int {
	var usage usageError
	var diags *diagError
	var child statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &child):
		return child.status
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &diags) && diag.Cause(diags.list) == nil:
		return exitUsage
	case errors.Is(err, step.ErrMismatch):
		return exitMismatch
	case errors.Is(err, errInvalidSubmission):
		return exitInvalid
	case errors.Is(err, errClaimed):
		return exitClaimed
	case errors.Is(err, errFindings):
		return exitFindings
	default:
		return exitFailed
	}
}
