package soak

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/engine/step"
)

// disk is a cache whose objects are only sizes, on a disk of a given size and
// with a quota. What earlier runs left is evicted when space is needed, least
// recently used first; what this run made or found is not.
type disk struct {
	*memory.Cache
	Size, Quota int64

	mu       sync.Mutex
	used     int64
	reserved int64
	// Most is the most that was used and reserved at once.
	Most    int64
	records []record
	sizes   map[digest.ContentID]int64
	// run counts the runs; records of the present one are in use.
	run int
	// Dropped counts the records that were evicted.
	Dropped int
}

// record is a finished step's content.
type record struct {
	action digest.ActionID
	bytes  int64
	run    int
}

// newDisk returns an empty cache. Size and quota 0 are no limit.
func newDisk(size, quota int64) *disk {
	return &disk{Cache: memory.New(), Size: size, Quota: quota, sizes: map[digest.ContentID]int64{}}
}

// NextRun says that another process begins: what is there is no longer in use.
func (d *disk) NextRun() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run++
}

// Used returns the bytes of the content.
func (d *disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used
}

// Lookup implements cache.Index. What it finds is in use by the present run.
func (d *disk) Lookup(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.records, func(r record) bool { return r.action == id })
	if i < 0 {
		return nil, cache.ErrNotFound
	}
	r := d.records[i]
	r.run = d.run
	d.records = append(slices.Delete(d.records, i, i+1), r)
	return d.Cache.Lookup(ctx, id)
}

// Record implements cache.Index.
func (d *disk) Record(ctx context.Context, rec *cache.Record) error {
	if err := d.Cache.Record(ctx, rec); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := record{action: rec.Action, run: d.run}
	for _, v := range rec.Outputs {
		r.bytes += d.sizes[v.Ref.ID]
	}
	d.records = append(d.records, r)
	return nil
}

// settle turns what a step reserved into its content.
func (d *disk) settle(id digest.ContentID, est step.Estimate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used += est.CacheBytes
	d.reserved -= est.Bytes()
	d.sizes[id] = est.CacheBytes
}

// limit is what may be used and reserved, with the error beyond.
func (d *disk) limit() (int64, error) {
	switch {
	case d.Quota > 0 && (d.Size == 0 || d.Quota < d.Size):
		return d.Quota, cache.ErrQuota
	case d.Size > 0:
		return d.Size, cache.ErrSpace
	}
	return 1 << 62, cache.ErrSpace
}

// Reserve implements cache.Reserver.
func (d *disk) Reserve(_ context.Context, bytes int64) (func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if bytes <= 0 {
		return func() {}, nil
	}
	limit, full := d.limit()
	var evictable int64
	for _, r := range d.records {
		if r.run < d.run {
			evictable += r.bytes
		}
	}
	switch {
	case d.used-evictable+bytes > limit:
		return nil, fmt.Errorf("%w: %d of %d bytes are in use", full, d.used-evictable, limit)
	case d.used-evictable+d.reserved+bytes > limit:
		return nil, fmt.Errorf("%w: %w", full, cache.ErrReserved)
	}
	d.evict(d.used + d.reserved + bytes - limit)
	d.reserved += bytes
	d.Most = max(d.Most, d.used+d.reserved)
	return func() {}, nil
}

// evict drops records of earlier runs until so many bytes are free.
func (d *disk) evict(bytes int64) {
	for i := 0; i < len(d.records) && bytes > 0; {
		r := d.records[i]
		if r.run == d.run || r.bytes == 0 {
			i++
			continue
		}
		d.records = slices.Delete(d.records, i, i+1)
		d.used -= r.bytes
		bytes -= r.bytes
		d.Dropped++
	}
}
