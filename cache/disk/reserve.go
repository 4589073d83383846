package disk

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
)

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
	unlock, err := c.lockNamed(ctx, "reserve", unix.LOCK_EX)
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
	for _, s := range []shortage{quota, disk} {
		if err := c.evictFor(ctx, s); err != nil {
			return err
		}
	}
	return nil
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
