package disk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mleflow/mleflow/cache"
)

// reserve counts n bytes that are about to be written, and makes room for
// them when they exceed the quota. They are in flight until landed, published
// or released.
func (c *Cache) reserve(ctx context.Context, n int64) error {
	c.inflight.Add(n)
	used := c.state.used.Add(n)
	if c.opts.Quota <= 0 || used <= c.opts.Quota {
		return nil
	}
	if err := c.makeRoom(ctx, n); err != nil {
		c.release(n)
		return err
	}
	return nil
}

// release takes back what reserve counted.
func (c *Cache) release(n int64) {
	c.inflight.Add(-n)
	c.state.used.Add(-n)
}

// landed says that reserved bytes are in a file that a count finds.
func (c *Cache) landed(n int64) { c.inflight.Add(-n) }

// published counts an object, whose bytes have landed.
func (c *Cache) published(size int64) {
	c.state.objects.Add(1)
	c.state.unsynced.Add(size)
}

// removed counts an object that is gone.
func (c *Cache) removed(size int64, executable bool) {
	c.state.used.Add(-size)
	if !executable {
		c.state.objects.Add(-1)
	}
}

// makeRoom removes what nobody uses until the bytes fit.
func (c *Cache) makeRoom(ctx context.Context, n int64) error {
	c.quotaMu.Lock()
	defer c.quotaMu.Unlock()
	if c.state.used.Load() <= c.opts.Quota {
		return nil // another ingest has made room meanwhile
	}
	if since := time.Since(c.futile); since > futileFor {
		_, err := c.collect(ctx, GCOptions{}, "quota")
		if errors.Is(err, errHeld) {
			return fmt.Errorf("%w: %w", cache.ErrQuota, err)
		}
		if err != nil {
			return fmt.Errorf("make room in the cache: %w", err)
		}
		if c.state.used.Load() <= c.opts.Quota {
			return nil
		}
		c.futile = time.Now()
	}
	return fmt.Errorf("%w: %d bytes of %d are in use or pinned, and %d more are needed; raise the quota, unpin something or wait for other runs",
		cache.ErrQuota, c.state.used.Load()-n, c.opts.Quota, n)
}

// futileFor is how long an attempt to make room is not repeated after one
// that did not find enough.
const futileFor = 2 * time.Second
