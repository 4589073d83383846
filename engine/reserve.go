package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/sched"
)

// spacePoll is the interval between attempts to get space that another process
// holds. Other processes cannot wake this one.
const spacePoll = 2 * time.Second

// spaceQueue lets the steps of a run reserve disk space one at a time, in the
// order of their requests, so that a large request does not starve. A step
// holds its space while it runs and never asks for more. The first step in the
// queue therefore gets its space after the running steps have ended, or learns
// that there is too little.
type spaceQueue struct {
	turn chan struct{}

	mu      sync.Mutex
	freed   chan struct{} // closed when a step releases its space
	holders int           // steps that hold space
}

func newSpaceQueue() *spaceQueue {
	return &spaceQueue{turn: make(chan struct{}, 1), freed: make(chan struct{})}
}

// next returns a channel that is closed when a step next releases space.
func (q *spaceQueue) next() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.freed
}

// hold adds n holders of space and returns the previous number.
func (q *spaceQueue) hold(n int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holders += n
	return q.holders - n
}

func (q *spaceQueue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holders--
	close(q.freed)
	q.freed = make(chan struct{})
}

// reserve reserves a step's disk space after the steps ahead of it in the
// queue. It waits while other work holds the space. It fails if there will
// never be enough.
func (r *run) reserve(ctx context.Context, n *node) (release func(), err error) {
	bytes := n.estimate.Bytes()
	if bytes <= 0 {
		return func() {}, nil
	}
	select {
	case r.queue.turn <- struct{}{}:
		defer func() { <-r.queue.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	reported := false
	for {
		// Taken before the attempt, so that no release is missed.
		freed := r.queue.next()
		give, err := r.e.opts.Cache.Reserve(ctx, bytes)
		switch {
		case err == nil:
			r.queue.hold(1)
			return func() { give(); r.queue.wake() }, nil
		case !errors.Is(err, cache.ErrReserved):
			return nil, r.noSpace(ctx, n, err)
		case !reported:
			reported = true
			r.sink.Emit(event.StepWaiting{At: event.Now(), Address: n.plan.Name, Bytes: bytes, Holders: r.queue.hold(0),
				Message: sched.Bytes(bytes) + " of disk space, which running steps have reserved"})
		}
		if err := pause(ctx, freed); err != nil {
			return nil, err
		}
	}
}

// pause waits until this process releases space, or until it is time to poll.
func pause(ctx context.Context, freed <-chan struct{}) error {
	timer := time.NewTimer(spacePoll)
	defer timer.Stop()
	select {
	case <-freed:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// noSpace describes a step's needs, the available space and the remedies.
func (r *run) noSpace(ctx context.Context, n *node, err error) error {
	quota, space := errors.Is(err, cache.ErrQuota), errors.Is(err, cache.ErrSpace)
	if !quota && !space {
		return fmt.Errorf("reserve disk space: %w", err)
	}
	est := n.estimate
	text := sched.Bytes(est.Bytes()) + " of disk space needed"
	if est.PeakBytes > 0 && est.CacheBytes > 0 {
		text += fmt.Sprintf(" (%s to keep, %s while it runs)", sched.Bytes(est.CacheBytes), sched.Bytes(est.PeakBytes))
	}
	if est.Basis != "" {
		text += ", by " + est.Basis
	}
	if r.e.opts.Space != nil {
		if s, err := r.e.opts.Space(ctx); err == nil {
			text += spaceText(s.QuotaBytes, s.UsedBytes, s.FreeBytes)
		}
	}
	fix := "free space with mleflow cache gc or cache unpin, or put the cache on another disk with --cache-dir"
	if quota {
		fix = "raise MLEFLOW_CACHE_QUOTA, free space with mleflow cache unpin, or use another cache with --cache-dir"
	}
	return fmt.Errorf("%s: %w; %s", text, err, fix)
}

func spaceText(quota, used, free int64) string {
	text := ""
	if quota > 0 {
		text += fmt.Sprintf("; the cache uses %s of its quota of %s", sched.Bytes(used), sched.Bytes(quota))
	}
	if free >= 0 {
		text += fmt.Sprintf("; the disk has %s free", sched.Bytes(free))
	}
	return text
}
