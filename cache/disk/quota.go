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
	"github.com/mleflow/mleflow/cache/internal/pool"
)

// quota is how a process keeps within the quota and the disk: what it has
// reserved, what its ingests count for, and how space is made.
type quota struct {
	*folder
	leases *leases
	// collect removes what nobody uses.
	collect func(ctx context.Context, opts GCOptions, reason string, to goal) (GCResult, error)

	// pool is what the process has reserved; what is left of it counts as
	// used until it is drawn or given back.
	pool pool.Pool
	// mu lets one after another make space. It guards futile.
	mu sync.Mutex
	// futile is when an attempt to make room last found nothing to remove.
	futile time.Time
	// begun and ended count the changes of counters and files that belong
	// together. A recount believes itself only if there were none meanwhile.
	begun, ended atomic.Int64
}

// change begins a change; the function that it returns ends it.
func (c *quota) change() (end func()) {
	c.begun.Add(1)
	return func() { c.ended.Add(1) }
}

// still returns a number that stays the same as long as nothing changes, and
// whether nothing is changing now.
func (c *quota) still() (int64, bool) {
	ended := c.ended.Load()
	begun := c.begun.Load()
	return begun, begun == ended
}

// charge is what an unfinished ingest counts for: bytes in flight, of which
// some were drawn from reservations.
type charge struct {
	bytes, drawn int64
	// account is whose reservations are drawn on.
	account any
}

// take counts n bytes that are about to be written, from what the process has
// reserved as far as that goes, and makes room for the rest when it exceeds
// the quota. They are in flight until landed or given back.
func (c *quota) take(ctx context.Context, held *charge, n int64) error {
	end := c.change()
	drawn := c.pool.Draw(held.account, n)
	c.leases.lease.inflight.Add(n)
	held.bytes += n
	held.drawn += drawn
	used := c.state.used.Add(n - drawn)
	end()
	if drawn == n {
		return nil
	}
	if c.opts.Quota <= 0 || used <= c.opts.Quota {
		return nil
	}
	if err := c.makeRoom(ctx, n-drawn); err != nil {
		c.uncharge(held, charge{bytes: n, drawn: drawn})
		return err
	}
	return nil
}

// giveBack uncounts n of the bytes that are held. Those that were drawn go
// back to the reservations that are still open.
func (c *quota) giveBack(held *charge, n int64) {
	if n == 0 {
		return
	}
	c.uncharge(held, charge{bytes: n, drawn: min(n, held.drawn)})
}

func (c *quota) uncharge(held *charge, n charge) {
	defer c.change()()
	held.bytes -= n.bytes
	held.drawn -= n.drawn
	c.state.used.Add(-(n.bytes - c.pool.Return(held.account, n.drawn)))
	c.leases.lease.inflight.Add(-n.bytes)
}

// landed says that the held bytes are in a file that a count finds.
func (c *quota) landed(held *charge) {
	c.leases.lease.inflight.Add(-held.bytes)
	held.bytes, held.drawn = 0, 0
}

// published counts an object, whose bytes have landed.
func (c *quota) published(size int64) {
	c.state.objects.Add(1)
	c.state.unsynced.Add(size)
}

// removed counts an object that is gone.
func (c *quota) removed(size int64, executable bool) {
	c.state.used.Add(-size)
	if !executable {
		c.state.objects.Add(-1)
	}
}

// makeRoom removes what nobody uses until the bytes fit, and a little more, so
// that the next bytes do not need a collection of their own.
func (c *quota) makeRoom(ctx context.Context, n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.used.Load() <= c.opts.Quota {
		return nil // another ingest has made room meanwhile
	}
	for time.Since(c.futile) > futileFor {
		if err := c.leases.reap(); err != nil {
			return err
		}
		res, err := c.collect(ctx, GCOptions{}, "quota", func(used int64, t tally) int64 {
			room := c.opts.Quota - (used - t.bytes)
			return room - room/20
		})
		if errors.Is(err, errHeld) {
			return fmt.Errorf("%w: %w", cache.ErrQuota, err)
		}
		if err != nil {
			return fmt.Errorf("make room in the cache: %w", err)
		}
		if c.state.used.Load() <= c.opts.Quota {
			return nil
		}
		if res.Bytes == 0 { // else others took what was found
			c.futile = time.Now()
		}
	}
	return fmt.Errorf("%w: %s of %s are in use, reserved or pinned, and %s more are needed; raise the quota, unpin something or wait for other runs to end",
		cache.ErrQuota, sizeText(c.state.used.Load()-n), sizeText(c.opts.Quota), sizeText(n))
}

// futileFor is how long an attempt to make room is not repeated after one
// that did not find enough.
const futileFor = 2 * time.Second

// reserveSize is what the file "reserve" takes, so that a collection can
// write its tombstones when the disk is full.
const reserveSize = 1 << 20

// makeReserve makes the reserve when it is missing and there is space.
func (c *quota) makeReserve() {
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
func (c *quota) spendReserve() bool { return os.Remove(c.path(reserveName)) == nil }

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
