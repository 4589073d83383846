package agentrun

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/engine/step"
)

// mostPause limits the time of an attempt whose clock is paused, as a multiple of its
// time limit. The runtime enforces it even if this process dies.
const mostPause = 2

var errTime = errors.New("the agent exceeded its time limit")

// clock measures an agent's time.
type clock struct {
	// started is the start of the agent, in nanoseconds since 1970, even if an earlier
	// process started it. Before the start it is the end of the set-up.
	started atomic.Int64
	// before is the part of the limit that the attempt had used before, until the
	// checkpoint from which it goes on.
	before time.Duration
	// given is the time limit; 0 is none.
	given time.Duration
	// pausable reports whether some model gives back the time that the agent waits for
	// its provider. paused returns the time given back so far.
	pausable bool
	paused   func() time.Duration
}

func pausable(models []step.Model) bool {
	return slices.ContainsFunc(models, func(m step.Model) bool { return m.PauseClock })
}

func (c *clock) startedAt(at time.Time) { c.started.Store(at.UnixNano()) }

func (c *clock) start() time.Time { return time.Unix(0, c.started.Load()) }

// elapsed is the time that the agent has used.
func (c *clock) elapsed() time.Duration { return c.before + time.Since(c.start()) }

// used is the part of the limit that the agent has used.
func (c *clock) used() time.Duration {
	if c.pausable {
		return c.elapsed() - c.paused()
	}
	return c.elapsed()
}

// limit is the time limit plus the time given back so far.
func (c *clock) limit() time.Duration {
	if !c.pausable {
		return c.given
	}
	return min(mostPause*c.given, c.given+c.paused())
}

// hardLimit is the limit that the runtime enforces.
func (c *clock) hardLimit() time.Duration {
	if c.pausable {
		return c.rest(mostPause * c.given)
	}
	return c.rest(c.given)
}

// rest is what is left of a limit for an attempt that goes on. It is never 0, which is
// no limit.
func (c *clock) rest(limit time.Duration) time.Duration {
	if limit == 0 {
		return 0
	}
	return max(limit-c.before, time.Second)
}

// over reports whether a pausable clock is past its limit.
func (c *clock) over() bool {
	return c.given > 0 && c.pausable && c.elapsed() > c.limit()
}
