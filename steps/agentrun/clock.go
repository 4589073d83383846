package agentrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// mostPause is how much longer an attempt may take whose clock is paused, as a
// multiple of its limit: the runtime's own limit, which holds without us.
const mostPause = 2

// clockPause is how often the time of an attempt whose clock may be paused is
// looked at.
const clockPause = 200 * time.Millisecond

var errTime = errors.New("the agent exceeded its time limit")

// pausable reports whether a model gives the time back that its provider makes
// the agent wait.
func (s *session) pausable() bool {
	return s.env.Limits.Timeout > 0 && slices.ContainsFunc(s.args.Agent.Models, func(m step.Model) bool { return m.PauseClock })
}

// limit is the time limit, with what was given back by now.
func (s *session) limit() time.Duration {
	limit := s.env.Limits.Timeout
	if !s.pausable() || s.models == nil || s.models.gateway == nil {
		return limit
	}
	return min(mostPause*limit, limit+s.models.gateway.Paused())
}

// hardLimit is the runtime's limit.
func (s *session) hardLimit() time.Duration {
	if s.pausable() {
		return mostPause * s.env.Limits.Timeout
	}
	return s.env.Limits.Timeout
}

// watchClock ends an attempt whose clock may be paused at its limit.
func (s *session) watchClock(ctx context.Context, end context.CancelCauseFunc) {
	if !s.pausable() {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(clockPause):
		}
		if limit := s.limit(); s.elapsed() > limit {
			fmt.Fprintf(s.env.Log, "stopped: the time limit of %v, of which %v were given back\n", limit.Round(time.Second), (limit - s.env.Limits.Timeout).Round(time.Second))
			end(errTime)
			return
		}
	}
}

// overTime turns the end that watchClock brought about into a result.
func overTime(ctx context.Context, exit executor.Exit, err error) (executor.Exit, error) {
	if errors.Is(err, errTime) && errors.Is(context.Cause(ctx), errTime) {
		exit.Reason = executor.TimedOut
		return exit, nil
	}
	return exit, err
}
