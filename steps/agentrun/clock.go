package agentrun

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/engine/step"
)

// mostPause is how much longer an attempt may take whose clock is paused, as a
// multiple of its limit: the runtime's own limit, which holds without us.
const mostPause = 2

var errTime = errors.New("the agent exceeded its time limit")

// clock is an agent's time.
type clock struct {
	// started is when the agent was started, in nanoseconds since 1970, by this
	// process or an earlier one. Until then it is when the set-up ended.
	started atomic.Int64
	// given is the time limit, 0 without one.
	given time.Duration
	// pausable says that a model gives the time back that its provider makes the
	// agent wait, and paused is how much by now.
	pausable bool
	paused   func() time.Duration
}

func pausable(models []step.Model) bool {
	return slices.ContainsFunc(models, func(m step.Model) bool { return m.PauseClock })
}

func (c *clock) startedAt(at time.Time) { c.started.Store(at.UnixNano()) }

func (c *clock) start() time.Time { return time.Unix(0, c.started.Load()) }

// elapsed is the time that the agent has used.
func (c *clock) elapsed() time.Duration { return time.Since(c.start()) }

// limit is the time limit plus the time given back so far.
func (c *clock) limit() time.Duration {
	if !c.pausable {
		return c.given
	}
	return min(mostPause*c.given, c.given+c.paused())
}

// hardLimit is the runtime's limit.
func (c *clock) hardLimit() time.Duration {
	if c.pausable {
		return mostPause * c.given
	}
	return c.given
}

// over reports whether a clock that can be paused is beyond its limit.
func (c *clock) over() bool {
	return c.given > 0 && c.pausable && c.elapsed() > c.limit()
}
