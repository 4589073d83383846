package disk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/internal/pool"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
)

// quota keeps a process within the quota and the disk space. It tracks the
// reservations and the ingests of the process, and makes space.
type quota struct {
	*folder
	leases *leases
	// collect removes objects that nobody uses.
	collect func(ctx context.Context, opts GCOptions, reason string, to goal) (GCResult, error)

	// pool holds the reservations of the process. Their rest counts as used until it is
	// drawn or released.
	pool pool.Pool
	// mu lets only one goroutine at a time make space. It guards futile.
	mu sync.Mutex
	// futile is the time at which an attempt to make space last found nothing to
	// remove.
	futile time.Time
	// begun and ended count changes of counters and files that belong together. A
	// recount is discarded if there were any meanwhile.
	begun, ended atomic.Int64
}

// change begins a change; the returned function ends it.
func (c *quota) change() (end func()) {
	c.begun.Add(1)
	return func() { c.ended.Add(1) }
}

// still returns a number that stays the same as long as nothing changes, and
// whether no change is in progress.
func (c *quota) still() (int64, bool) {
	ended := c.ended.Load()
	begun := c.begun.Load()
	return begun, begun == ended
}

// charge is the share of an unfinished ingest in the quota: bytes in flight, some
// of which may be drawn from reservations.
type charge struct {
	bytes, drawn int64
	// account is the owner of the reservations that are drawn on.
	account any
}

// take counts n bytes that are about to be written. They come from the
// process's reservations as far as these go; for the rest, space is made if the
// quota would be exceeded. The bytes are in flight until they have landed or
// are given back.
func (c *quota) take(ctx context.Context, held *charge, n int64) error {
	end := c.change()
	drawn := c.pool.Draw(held.account, n)
	c.leases.lease.inflight.Add(n)
	held.bytes += n
	held.drawn += drawn
	used := c.state.used.Add(n - drawn)
	end()
	if drawn == n || c.opts.Quota <= 0 || used <= c.opts.Quota {
		return nil
	}
	if err := c.makeSpace(ctx, n-drawn); err != nil {
		c.uncharge(held, charge{bytes: n, drawn: drawn})
		return err
	}
	return nil
}

// giveBack uncounts n of the held bytes. Those that were drawn return to
// reservations that are still open.
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

// landed records that the held bytes are now in a file that a count finds.
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

// makeSpace removes unused objects until the bytes fit, and a little more, so that
// the next bytes do not need another collection.
func (c *quota) makeSpace(ctx context.Context, n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.used.Load() <= c.opts.Quota {
		return nil // another ingest has made space meanwhile
	}
	for time.Since(c.futile) > futileFor {
		if err := c.leases.reap(); err != nil {
			return err
		}
		res, err := c.collect(ctx, GCOptions{}, "quota", func(used int64, t tally) int64 {
			// Bytes that count but are not in objects cannot be evicted. A twentieth is freed
			// in addition, or every ingest into a full cache would start a collection.
			space := c.opts.Quota - (used - t.bytes)
			return space - space/20
		})
		if errors.Is(err, errHeld) {
			return fmt.Errorf("%w: %w", cache.ErrQuota, err)
		}
		if err != nil {
			return fmt.Errorf("make space in the cache: %w", err)
		}
		if c.state.used.Load() <= c.opts.Quota {
			return nil
		}
		if res.Bytes == 0 { // other processes took the space that was found
			c.futile = time.Now()
		}
	}
	return fmt.Errorf("%w: %s of %s are in use, reserved or pinned, and %s more are needed; raise the quota, unpin something, or wait for other runs to end",
		cache.ErrQuota, sizeText(c.state.used.Load()-n), sizeText(c.opts.Quota), sizeText(n))
}

// futileFor is the time without a new attempt to make space after one that did not
// find enough. Without it, every small write on a full cache would walk the whole
// index.
const futileFor = 2 * time.Second

// reserveSize is the size of the file "reserve", which is given up so that a
// collection can write its tombstones on a full disk.
const reserveSize = 1 << 20

// makeReserve creates the reserve if it is missing and there is space.
func (c *quota) makeReserve() {
	path := c.path(reserveName)
	if _, err := os.Lstat(path); err == nil {
		return
	}
	f, err := nolink.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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

// sizeText formats a size for people.
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

// Reserve implements cache.Reserver. The quota counts reserved bytes as used.
// The reservation is in the process's lease, where other processes see it while
// this one lives.
func (c *quota) Reserve(ctx context.Context, bytes int64) (release func(), err error) {
	if err := c.writing("reserve space in the cache"); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if bytes <= 0 {
		return func() {}, nil
	}
	if err := c.reserve(ctx, bytes); err != nil {
		return nil, fmt.Errorf("reserve %s in the cache: %w", sizeText(bytes), err)
	}
	return sync.OnceFunc(func() { c.state.used.Add(-c.pool.Close(cache.Account(ctx), bytes)) }), nil
}

// reserve lets one process at a time look for space. Otherwise two could find
// the same.
func (c *quota) reserve(ctx context.Context, bytes int64) error {
	if c.opts.Quota > 0 && bytes > c.opts.Quota {
		return fmt.Errorf("%w: the quota is %s; raise it", cache.ErrQuota, sizeText(c.opts.Quota))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	unlock, err := c.lockNamed(ctx, "reserve", flock.Try)
	if err != nil {
		return err
	}
	defer unlock()
	// The requested bytes are in flight until they are granted, so that no ingest
	// takes them meanwhile.
	held := charge{bytes: bytes}
	end := c.change()
	c.leases.lease.inflight.Add(bytes)
	c.state.used.Add(bytes)
	end()
	if err := c.findSpace(ctx, bytes); err != nil {
		c.giveBack(&held, bytes)
		return err
	}
	c.pool.Open(cache.Account(ctx), bytes)
	c.landed(&held)
	return nil
}

// findSpace makes sure that bytes, which are counted already, fit into the
// quota and on the disk.
func (c *quota) findSpace(ctx context.Context, bytes int64) error {
	if over, _ := c.overQuota(); over > 0 {
		if err := c.leases.reap(); err != nil {
			return err
		}
	}
	quota := shortage{cache.ErrQuota, c.overQuota, func(r GCResult) int64 { return r.Bytes }}
	disk := shortage{cache.ErrSpace, func() (int64, error) { return c.overDisk(bytes) }, func(r GCResult) int64 { return r.DiskBytes }}
	return lists.Each([]shortage{quota, disk}, func(s shortage) error { return c.evictFor(ctx, s) })
}

// shortage is one of the limits that a reservation may exceed.
type shortage struct {
	// lack is the error if space cannot be made.
	lack error
	// over returns by how much the limit is exceeded.
	over func() (int64, error)
	// gain returns by how much a collection reduces the excess.
	gain func(GCResult) int64
}

// overQuota returns by how much the quota is exceeded.
func (c *quota) overQuota() (int64, error) {
	if c.opts.Quota <= 0 {
		return 0, nil
	}
	return c.state.used.Load() - c.opts.Quota, nil
}

// overDisk returns by how much the bytes, together with everything already
// reserved, exceed the free space on the disk.
func (c *quota) overDisk(bytes int64) (int64, error) {
	free, err := c.hooks.space(c.dir)
	if err != nil {
		return 0, err
	}
	reserved, err := c.leases.reserved()
	if err != nil {
		return 0, err
	}
	return bytes + reserved - free, nil
}

// evictFor evicts records until the shortage is over. If everything that may be
// evicted would not be enough, it evicts nothing.
func (c *quota) evictFor(ctx context.Context, s shortage) error {
	over, err := s.over()
	if over <= 0 || err != nil {
		return err
	}
	dry, err := c.collect(ctx, GCOptions{DryRun: true, MaxSize: 1}, "quota", nil)
	if errors.Is(err, errHeld) {
		return fmt.Errorf("%w: %w", s.lack, err)
	}
	if err != nil {
		return err
	}
	if over > s.gain(dry) {
		return c.lacking(s.lack, over-s.gain(dry))
	}
	for over > 0 {
		res, err := c.collect(ctx, GCOptions{}, "quota", func(_ int64, t tally) int64 { return t.bytes - over })
		if err != nil {
			return err
		}
		if over, err = s.over(); err != nil {
			return err
		}
		if over > 0 && res.Bytes == 0 {
			return c.lacking(s.lack, over)
		}
	}
	return nil
}

// lacking describes what prevents a reservation.
func (c *quota) lacking(lack error, missing int64) error {
	reserved, err := c.leases.reserved()
	if err != nil {
		return err
	}
	advice := "raise the quota, or unpin something"
	if errors.Is(lack, cache.ErrSpace) {
		advice = "free space on the disk of " + c.dir + ", or unpin something"
	}
	err = fmt.Errorf("%w: %s are missing; everything else is pinned or in use; %s", lack, sizeText(missing), advice)
	if missing <= reserved {
		err = fmt.Errorf("%w; %s are %w", err, sizeText(reserved), cache.ErrReserved)
	}
	return err
}

// freeSpace returns how many bytes this user may still write to the file
// system of dir.
func freeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	size := int64(st.Bsize) //nolint:unconvert // 32 bits on some platforms
	return int64(min(st.Bavail, math.MaxInt64/uint64(size))) * size, nil
}
