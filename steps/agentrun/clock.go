package agentrun

import (
	"context"
	"errors"
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

var (
	errTime   = errors.New("the agent exceeded its time limit")
	errBudget = errors.New("the agent repeats what its budget refuses")
)

// pausable reports whether a model gives the time back that its provider makes
// the agent wait.
func (s *session) pausable() bool {
	return s.env.Limits.Timeout > 0 && slices.ContainsFunc(s.args.Agent.Models, func(m step.Model) bool { return m.PauseClock })
}

// limit is the time limit plus the time given back so far.
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

// watchModels ends an attempt whose clock may be paused at its limit, and one that only
// repeats requests that its budget refuses.
func (s *session) watchModels(ctx context.Context, end context.CancelCauseFunc) {
	if s.models == nil || s.models.gateway == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(clockPause):
		}
		if why := s.models.gateway.Futile(); why != "" {
			s.env.Note("stopped: %s", why)
			end(errBudget)
			return
		}
		if limit := s.limit(); s.pausable() && s.elapsed() > limit {
			s.env.Note("stopped: the time limit of %v, of which %v were given back", limit.Round(time.Second), (limit - s.env.Limits.Timeout).Round(time.Second))
			end(errTime)
			return
		}
	}
}

// stopped turns the end that a watcher brought about into a result.
func stopped(ctx context.Context, exit executor.Exit, err error) (executor.Exit, error) {
	switch cause := context.Cause(ctx); {
	case cause == nil || !errors.Is(err, cause):
		return exit, err
	case errors.Is(cause, errTime):
		exit.Reason = executor.TimedOut
	case errors.Is(cause, errDisk):
		exit.Reason = executor.OutOfDisk
	case errors.Is(cause, errBudget):
		exit.Reason, exit.Signal, exit.Code = executor.Signalled, 9, 128+9
	default:
		return exit, err
	}
	return exit, nil
}
