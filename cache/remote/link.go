package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
)

// link is the two caches and the connection between them, shared by all parts
// of a Tier.
type link struct {
	local  *disk.Cache
	loc    Location
	opts   Options
	bucket *bucket
	stats  counters
	moving moving
	slots  chan struct{}
	warned sync.Map

	// mu guards busy: the roots that are being transferred.
	mu   sync.Mutex
	busy map[digest.ContentID]chan struct{}
}

// warn reports each kind of trouble once.
func (t *link) warn(kind, format string, args ...any) {
	if _, told := t.warned.LoadOrStore(kind, true); !told && t.opts.Warn != nil {
		t.opts.Warn(fmt.Sprintf(format, args...))
	}
}

// trouble counts and reports a failure that does not stop the work.
func (t *link) trouble(ctx context.Context, doing string, err error) {
	if ctx.Err() != nil {
		return
	}
	t.stats.failed.Add(1)
	switch {
	case errors.Is(err, cache.ErrCorrupt):
		t.warn("corrupt", "remote cache %s: the content of an object does not match its name, so it is not used: %v", t.loc, err)
	case errors.Is(err, errCredentials):
		t.warn("denied "+doing, "remote cache %s: %s is not allowed and will not be retried: %v", t.loc, doing, err)
	default:
		t.warn("trouble "+doing, "remote cache %s: %s failed: %v; the run continues without it (later failures are only counted)", t.loc, doing, err)
	}
}

// slot takes one of the slots for transfers.
func (t *link) slot(ctx context.Context) (release func(), err error) {
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// alone makes work on a root wait for other work on the same root.
func (t *link) alone(ctx context.Context, id digest.ContentID) (release func(), err error) {
	for {
		t.mu.Lock()
		other, busy := t.busy[id]
		if !busy {
			mine := make(chan struct{})
			t.busy[id] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.busy, id)
				t.mu.Unlock()
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
