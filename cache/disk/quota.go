package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache"
)

// room is how a process keeps within the quota.
type room struct {
	// inflight is the bytes that this process has reserved and not landed.
	inflight atomic.Int64
	mu       sync.Mutex
	// futile is when an attempt to make room last found nothing to remove.
	futile time.Time
}

// reserve counts n bytes that are about to be written, and makes room for
// them when they exceed the quota. They are in flight until landed, published
// or released.
func (c *Cache) reserve(ctx context.Context, n int64) error {
	c.room.inflight.Add(n)
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
	c.room.inflight.Add(-n)
	c.state.used.Add(-n)
}

// landed says that reserved bytes are in a file that a count finds.
func (c *Cache) landed(n int64) { c.room.inflight.Add(-n) }

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
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	if c.state.used.Load() <= c.opts.Quota {
		return nil // another ingest has made room meanwhile
	}
	if since := time.Since(c.room.futile); since > futileFor {
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
		c.room.futile = time.Now()
	}
	return fmt.Errorf("%w: %s of %s are in use or pinned, and %s more are needed; raise the quota, unpin something or wait for other runs to end",
		cache.ErrQuota, sizeText(c.state.used.Load()-n), sizeText(c.opts.Quota), sizeText(n))
}

// futileFor is how long an attempt to make room is not repeated after one
// that did not find enough.
const futileFor = 2 * time.Second

// reserveSize is what the file "reserve" takes, so that a collection can
// write its tombstones when the disk is full.
const reserveSize = 1 << 20

// makeReserve makes the reserve when it is missing and there is space.
func (c *Cache) makeReserve() {
	path := c.path(reserveName)
	if _, err := os.Lstat(path); err == nil {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	if err := reserveBlocks(f, reserveSize); err != nil {
		_ = os.Remove(path)
	}
}

// spendReserve frees the reserve and reports whether there was one.
func (c *Cache) spendReserve() bool { return os.Remove(c.path(reserveName)) == nil }

// sizeText writes a size for people.
func sizeText(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	v := float64(n) / (1 << 10)
	for v >= 1<<10 && len(units) > 1 {
		v, units = v/(1<<10), units[1:]
	}
	return fmt.Sprintf("%.1f %s", v, units[0])
}
