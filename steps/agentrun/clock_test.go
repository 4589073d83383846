package agentrun

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// TestStopped: what a watcher ended has the outcome that it ended it for.
func TestStopped(t *testing.T) {
	for _, c := range []struct {
		cause error
		want  outcome.End
	}{{errTime, outcome.TimedOut}, {errDisk, outcome.OutOfDisk}, {errBudget, outcome.OutOfBudget}, {errors.New("interrupted"), ""}, {nil, ""}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if c.cause != nil {
			cancel(c.cause)
		}
		failed := fmt.Errorf("run: %w", errors.Join(c.cause, context.Canceled))
		exit, err := stopped(ctx, executor.Exit{}, failed)
		switch {
		case c.want == "":
			if err != failed { //nolint:errorlint // it is returned as it came
				t.Errorf("%v: %v", c.cause, err)
			}
		default:
			use := map[string]results.ModelUse{"main": {Requests: 1, Exhausted: c.cause == errBudget}} //nolint:errorlint // one of the table
			if got, _ := (ending{exit: exit, submitted: true, use: use}).outcome(); err != nil || got != c.want {
				t.Errorf("%v: %+v, %v", c.cause, exit, err)
			}
		}
		cancel(nil)
	}
}
