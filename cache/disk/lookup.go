package disk

import (
	"context"
	"fmt"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk/index"
)

// records is the index together with the content that its records name.
type records struct {
	*folder
	leases  *leases
	objects *objects
	lock    sharedLock
	index   *index.Index
}

// Lookup implements cache.Index. The record and its content stay in the cache while
// this process lives.
func (c *records) Lookup(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	// The mark comes first. If another process drops the record after it, that
	// process sees the mark; if it dropped the record before, Refresh shows that.
	c.leases.lease.use(id)
	rec, err := c.find(id)
	if err != nil {
		return nil, fmt.Errorf("look up action %s: %w", id.Short(), err)
	}
	for _, v := range rec.Outputs {
		if v.Ref.IsZero() {
			continue
		}
		c.leases.lease.use(v.Ref.ID)
		c.objects.drafts.claim(ctx, v.Ref.ID)
		if !c.objects.present(v.Ref.ID) {
			return nil, c.lostOutput(ctx, rec, v.Ref)
		}
	}
	return rec, nil
}

// find returns the record of an action as the index has it.
func (c *records) find(id digest.ActionID) (*cache.Record, error) {
	if err := c.index.Refresh(); err != nil {
		return nil, err
	}
	rec, _, err := c.index.Get(id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrNotFound, err)
	}
	if rec == nil {
		return nil, cache.ErrNotFound
	}
	return rec, nil
}

// lostOutput drops all records whose content has disappeared without a
// collection, rec among them, and returns cache.ErrNotFound. If one object was
// removed by hand, others probably were too, and one pass finds them all.
func (c *records) lostOutput(ctx context.Context, rec *cache.Record, ref cache.Ref) error {
	if !c.readOnly {
		if err := c.dropBroken(ctx, c.objects.missing); err != nil {
			return fmt.Errorf("look up action %s: %w", rec.Action.Short(), err)
		}
	}
	return fmt.Errorf("look up action %s: its output %s: %w", rec.Action.Short(), ref.ID.Short(), cache.ErrNotFound)
}

// Record implements cache.Index.
func (c *records) Record(ctx context.Context, rec *cache.Record) error {
	if err := c.writing("record action"); err != nil {
		return err
	}
	if err := c.record(ctx, rec); err != nil {
		return fmt.Errorf("record action %s: %w", rec.Action.Short(), c.explain(err))
	}
	return nil
}

func (c *records) record(ctx context.Context, rec *cache.Record) error {
	line, err := index.Encode(rec, c.now().UnixMilli())
	if err != nil {
		return err
	}
	c.leases.lease.use(rec.Action)
	for name, v := range rec.Outputs {
		if v.Ref.IsZero() {
			continue
		}
		c.leases.lease.use(v.Ref.ID)
		if _, err := c.objects.Has(ctx, v.Ref.ID); err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
	}
	return c.index.Add(line)
}

// Evicted implements cache.Index.
func (c *records) Evicted(_ context.Context, id digest.ActionID) (cache.Tombstone, error) {
	return c.index.Tombstone(id)
}
