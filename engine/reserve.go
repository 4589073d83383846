package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
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
	turn    chan struct{}
	freed   chan struct{} // has a token if a step has released its space
	holders atomic.Int64  // steps that hold space
}

func newSpaceQueue() *spaceQueue {
	return &spaceQueue{turn: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// wake makes the step whose turn it is try again.
func (q *spaceQueue) wake() {
	q.holders.Add(-1)
	select {
	case q.freed <- struct{}{}:
	default: // it will try anyway
	}
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
		give, err := r.e.opts.Cache.Reserve(ctx, bytes)
		switch {
		case err == nil:
			r.queue.holders.Add(1)
			return func() { give(); r.queue.wake() }, nil
		case !errors.Is(err, cache.ErrReserved):
			return nil, r.noSpace(ctx, n, err)
		case !reported:
			reported = true
			r.sink.Emit(event.StepWaiting{At: event.Now(), Address: n.plan.Name, Bytes: bytes, Holders: int(r.queue.holders.Load()),
				Message: sched.Bytes(bytes) + " of disk space, which running steps have reserved"})
		}
		if err := pause(ctx, r.queue.freed); err != nil {
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
			if s.QuotaBytes > 0 {
				text += fmt.Sprintf("; the cache uses %s of its quota of %s", sched.Bytes(s.UsedBytes), sched.Bytes(s.QuotaBytes))
			}
			if s.FreeBytes >= 0 {
				text += fmt.Sprintf("; the disk has %s free", sched.Bytes(s.FreeBytes))
			}
		}
	}
	fix := "free space with mleflow cache gc or cache unpin, or put the cache on another disk with --cache-dir"
	if quota {
		fix = "raise MLEFLOW_CACHE_QUOTA, free space with mleflow cache unpin, or use another cache with --cache-dir"
	}
	return fmt.Errorf("%s: %w; %s", text, err, fix)
}

// quietWait is how long a step waits for another process before the run says so.
const quietWait = time.Second

// lockAction waits until no other process runs the step's action. It says for which it
// waits. A person can cancel an attempt that waits.
func (r *run) lockAction(ctx context.Context, n *node) (unlock func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	said := make(chan struct{})
	timer := time.AfterFunc(quietWait, func() {
		defer close(said)
		r.steering.block(n.plan.Name, cancel)
		r.sink.Emit(event.StepWaiting{At: event.Now(), Address: n.plan.Name, Message: "another process, which runs the same action" + r.others()})
	})
	defer func() {
		if !timer.Stop() {
			<-said
			r.steering.block(n.plan.Name, nil)
		}
	}()
	unlock, err = r.e.opts.Cache.LockAction(ctx, n.decision.id)
	if err == nil && ctx.Err() != nil { // cancelled when it had waited long enough
		unlock()
		err = ctx.Err()
	}
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	return unlock, nil
}

// others names the other runs in progress in the cache, three at most.
func (r *run) others() string {
	if r.e.opts.History == nil {
		return ""
	}
	list, _ := r.e.opts.History.List() // without it, they are not named
	var names []string
	for _, e := range list {
		if e.State != history.Running || e.Info.ID == r.result.RunID {
			continue
		}
		if len(names) == 3 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("run %s, process %d on %s since %s", e.Info.ID, e.Info.PID, e.Info.Host, e.Info.Started.Local().Format(time.DateTime)))
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return ": " + names[0]
	}
	return "; it is one of these: " + strings.Join(names, "; ")
}
