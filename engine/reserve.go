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

// roomPoll is how often to ask again for room that another process holds.
const roomPoll = 2 * time.Second

// roomQueue lets the steps of a run ask for room one after the other, in the
// order they came, so that a large request does not starve. A step holds its
// room while it runs and asks for no more, so whoever is first in the queue
// gets its room when those that run have ended, or learns that there is none.
type roomQueue struct {
	turn chan struct{}

	mu      sync.Mutex
	freed   chan struct{} // closed when a step gives room back
	holders int           // steps that have room
}

func newRoomQueue() *roomQueue {
	return &roomQueue{turn: make(chan struct{}, 1), freed: make(chan struct{})}
}

// next returns a channel that is closed when room is given back after now.
func (q *roomQueue) next() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.freed
}

// hold counts a step that has got room, and returns how many had before it.
func (q *roomQueue) hold(n int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holders += n
	return q.holders - n
}

func (q *roomQueue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holders--
	close(q.freed)
	q.freed = make(chan struct{})
}

// reserve sets the room aside that a step needs, once the steps before it in
// the queue have theirs. It waits while room is reserved by work that goes on
// and fails when there will be none.
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
	told := false
	for {
		freed := r.queue.next()
		give, err := r.e.opts.Cache.Reserve(ctx, bytes)
		switch {
		case err == nil:
			r.queue.hold(1)
			return func() { give(); r.queue.wake() }, nil
		case !errors.Is(err, cache.ErrReserved):
			return nil, r.noRoom(ctx, n, err)
		case !told:
			told = true
			r.sink.Emit(event.StepWaiting{At: now(), Address: n.plan.Name, Bytes: bytes, Holders: r.queue.hold(0),
				Message: sched.Bytes(bytes) + " of disk space, which steps that run have reserved"})
		}
		if err := pause(ctx, freed); err != nil {
			return nil, err
		}
	}
}

// pause waits until room is given back here, or may be in another process.
func pause(ctx context.Context, freed <-chan struct{}) error {
	timer := time.NewTimer(roomPoll)
	defer timer.Stop()
	select {
	case <-freed:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// noRoom says what a step needs, what there is, and how to mend it.
func (r *run) noRoom(ctx context.Context, n *node, err error) error {
	quota, space := errors.Is(err, cache.ErrQuota), errors.Is(err, cache.ErrSpace)
	if !quota && !space {
		return fmt.Errorf("reserve disk space: %w", err)
	}
	est := n.estimate
	text := sched.Bytes(est.Bytes()) + " of disk space are needed"
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
	mend := "make room with mleflow cache gc or cache unpin, or put the cache on another disk with --cache-dir"
	if quota {
		mend = "raise MLEFLOW_CACHE_QUOTA, make room with mleflow cache unpin, or name another cache with --cache-dir"
	}
	return fmt.Errorf("%s: %w; %s", text, err, mend)
}

func spaceText(quota, used, free int64) string {
	text := ""
	if quota > 0 {
		text += fmt.Sprintf("; the cache holds %s of its quota of %s", sched.Bytes(used), sched.Bytes(quota))
	}
	if free >= 0 {
		text += fmt.Sprintf("; the disk has %s free", sched.Bytes(free))
	}
	return text
}
