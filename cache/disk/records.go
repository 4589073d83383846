package disk

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk/index"
)

// openIndex opens the index of the cache.
func (c *records) openIndex() (err error) {
	cfg := index.Config{
		Path: c.path(indexName, "log"), Changes: c.state.changes, Lost: c.state.lost, OnDrop: c.objects.forgetShards,
		Now: c.hooks.now, Write: c.hooks.write, At: c.hooks.at,
	}
	if !c.readOnly {
		if c.lock.file, err = c.openLock("index"); err != nil {
			return err
		}
		cfg.Hold = func(fn func() error) error { return c.lock.hold(unix.LOCK_EX, fn) }
	}
	c.index, err = index.Open(cfg)
	return err
}

// eachRecord calls fn for every record that exists now.
func (c *records) eachRecord(ctx context.Context, fn func(*cache.Record, index.Entry) error) error {
	list, err := c.index.Snapshot()
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, e, err := c.index.Get(p.ID)
		if err != nil {
			return fmt.Errorf("action %s: %w; 'mleflow cache verify' drops it", p.ID.Short(), err)
		}
		if rec == nil {
			continue // dropped meanwhile
		}
		if err := fn(rec, e); err != nil {
			return err
		}
	}
	return nil
}

// flushUses records what this process used since it opened the cache, unless
// the index has a recent use already.
func (c *records) flushUses() error {
	if c.readOnly || c.leases.lease == nil || c.leases.lease.words == nil {
		return nil
	}
	now := c.now().UnixMilli()
	return c.index.Use(now, func(id digest.ActionID, used int64) bool {
		return now-used > c.opts.AccessEvery.Milliseconds() && c.leases.lease.uses(id)
	})
}
