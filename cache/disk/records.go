package disk

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// placed is a record's action and its index entry.
type placed struct {
	id digest.ActionID
	entry
}

// snapshot returns all entries in the order in which they were recorded.
func (ix *index) snapshot() ([]placed, error) {
	if err := ix.refresh(); err != nil {
		return nil, err
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	list := make([]placed, 0, len(ix.entries))
	for id, e := range ix.entries {
		list = append(list, placed{id, e})
	}
	slices.SortFunc(list, byPlace)
	return list, nil
}

// byPlace orders records as they were recorded.
func byPlace(a, b placed) int { return cmp.Compare(a.at, b.at) }

// eachRecord calls fn for every record that exists now.
func (c *records) eachRecord(ctx context.Context, fn func(*cache.Record, entry) error) error {
	list, err := c.index.snapshot()
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, e, err := c.index.get(p.id)
		if err != nil {
			return fmt.Errorf("action %s: %w; 'mleflow cache verify' drops it", p.id.Short(), err)
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

// get returns a record with its entry, or nil.
func (ix *index) get(id digest.ActionID) (*cache.Record, entry, error) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	rec, ok, err := ix.record(id)
	if err != nil || !ok {
		return nil, entry{}, err
	}
	return rec, ix.entries[id], nil
}

func sortedActions[V any](m map[digest.ActionID]V) []digest.ActionID {
	return slices.SortedFunc(maps.Keys(m), func(a, b digest.ActionID) int { return bytes.Compare(a[:], b[:]) })
}

// flushUses records what this process used since it opened the cache, unless
// the index has a recent use already.
func (c *records) flushUses() error {
	if c.readOnly || c.leases.lease == nil || c.leases.lease.words == nil {
		return nil
	}
	now := c.now().UnixMilli()
	var used []byte
	c.index.mu.RLock()
	for id, e := range c.index.entries { // the order of digests in a use does not matter
		if now-e.used > c.opts.AccessEvery.Milliseconds() && c.leases.lease.uses(id) {
			used = append(used, id[:]...)
		}
	}
	c.index.mu.RUnlock()
	if len(used) == 0 {
		return nil
	}
	line := frame{kind: frameUses, millis: now, payload: used}.append(nil)
	return c.index.locked(func() error { return c.index.append(line) })
}
