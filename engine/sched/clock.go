package sched

import (
	"context"
	"sync"
	"time"
)

// clock ends a try after its time limit, not counting the time in outside.
// A nil clock has no limit.
type clock struct {
	mu    sync.Mutex
	timer *time.Timer
	begun time.Time
	left  time.Duration
	// waiting counts the calls of outside in progress.
	waiting int
}

// startClock returns a context that ends with limit as its cause.
func startClock(ctx context.Context, limit *timeoutError) (context.Context, *clock, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{left: limit.Limit, begun: time.Now()}
	c.timer = time.AfterFunc(limit.Limit, func() { cancel(limit) })
	return ctx, c, func() {
		c.timer.Stop()
		cancel(context.Canceled)
	}
}

// outside runs do while the clock is stopped.
func (c *clock) outside(do func() error) error {
	if c == nil {
		return do()
	}
	c.pause()
	defer c.resume()
	return do()
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 && c.timer.Stop() {
		c.left -= time.Since(c.begun)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting--; c.waiting == 0 {
		c.begun = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}
