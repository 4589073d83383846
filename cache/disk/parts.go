package disk

import (
	"context"
	"io"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// newCache connects the parts. Each part knows only the parts that it builds on.
func newCache(f *folder) *Cache {
	c := &Cache{folder: f, leases: &leases{folder: f}, keeping: &keeping{folder: f}}
	c.quota = &quota{folder: f, leases: c.leases, collect: c.collect}
	c.objects = &objects{folder: f, leases: c.leases, quota: c.quota, deleting: sharedLock{name: "cache"}}
	c.records = &records{folder: f, leases: c.leases, objects: c.objects, lock: sharedLock{name: "index"}}
	c.pins = &pins{folder: f, objects: c.objects, records: c.records}
	c.reading = &reading{folder: f, objects: c.objects, records: c.records}
	c.ingests = &ingests{folder: f, leases: c.leases, quota: c.quota, objects: c.objects}
	c.placing = &placing{folder: f, leases: c.leases, quota: c.quota, objects: c.objects, reading: c.reading}
	c.shares = &shares{folder: f, leases: c.leases, quota: c.quota, files: c}
	c.links = &linkFolders{folder: f, leases: c.leases, objects: c.objects, files: c}
	return c
}

// Ingest implements cache.Store. Two ingests of one key take turns, also across
// processes: the second waits until the first is closed, and continues from
// there.
func (c *Cache) Ingest(ctx context.Context, key string) (cache.Ingest, error) {
	return c.ingests.Ingest(ctx, key)
}

// Keep implements cache.Keeper.
func (c *Cache) Keep(ctx context.Context, key string) (string, func(keep bool) error, error) {
	return c.keeping.Keep(ctx, key)
}

// Kept implements cache.Keeper.
func (c *Cache) Kept(ctx context.Context) ([]cache.Kept, error) {
	return c.keeping.Kept(ctx)
}

// Lookup implements cache.Index. The record and its content stay in the cache while
// this process lives.
func (c *Cache) Lookup(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	return c.records.Lookup(ctx, id)
}

// Record implements cache.Index.
func (c *Cache) Record(ctx context.Context, rec *cache.Record) error {
	return c.records.Record(ctx, rec)
}

// Evicted implements cache.Index.
func (c *Cache) Evicted(ctx context.Context, id digest.ActionID) (cache.Tombstone, error) {
	return c.records.Evicted(ctx, id)
}

// Has implements cache.Store. An object that is found stays in the cache while
// this process lives.
func (c *Cache) Has(ctx context.Context, id digest.ContentID) (int64, error) {
	return c.objects.Has(ctx, id)
}

// Pin creates or replaces the pin p.Name. What it names must be in the cache;
// otherwise the error wraps cache.ErrNotFound.
func (c *Cache) Pin(ctx context.Context, p Pin) error {
	return c.pins.Pin(ctx, p)
}

// Unpin removes a pin, or returns an error that wraps cache.ErrNotFound.
func (c *Cache) Unpin(ctx context.Context, name string) error {
	return c.pins.Unpin(ctx, name)
}

// Pins returns all pins, sorted by name.
func (c *Cache) Pins(ctx context.Context) ([]Pin, error) {
	return c.pins.Pins(ctx)
}

// Place implements cache.Placer. An executable link is a link to the object's
// executable twin, because hard links share one mode. The twin is created when
// it is first needed.
func (c *Cache) Place(ctx context.Context, ref cache.Ref, path string, p cache.Placement) (cache.Placed, error) {
	return c.placing.Place(ctx, ref, path, p)
}

// Open implements cache.Store. If an object turns out to be wrong, it is moved
// to the quarantine and the records that lead to it are dropped before Read
// returns cache.ErrCorrupt.
func (c *Cache) Open(ctx context.Context, id digest.ContentID) (io.ReadCloser, error) {
	return c.reading.Open(ctx, id)
}

// OpenAt implements cache.RandomStore. The object must be sealed; one that
// was written to is verified first.
func (c *Cache) OpenAt(ctx context.Context, id digest.ContentID) (cache.RandomReader, error) {
	return c.reading.OpenAt(ctx, id)
}

// Reserve implements cache.Reserver. The quota counts reserved bytes as used.
// The reservation is in the process's lease, where other processes see it while
// this one lives.
func (c *Cache) Reserve(ctx context.Context, bytes int64) (release func(), err error) {
	return c.quota.Reserve(ctx, bytes)
}

// Share implements cache.Sharer.
func (c *Cache) Share(ctx context.Context, ref cache.Ref, progress func(files, bytes int64)) (cache.Shared, error) {
	return c.shares.Share(ctx, ref, progress)
}

// ShareCost implements cache.Sharer.
func (c *Cache) ShareCost(ref cache.Ref) (files, bytes int64) {
	return c.shares.ShareCost(ref)
}

// TakeLinks implements cache.LinkKeeper.
func (c *Cache) TakeLinks(ctx context.Context, ref cache.Ref, dst string) (taken bool, made func(folders []string), err error) {
	return c.links.TakeLinks(ctx, ref, dst)
}

// KeepLinks implements cache.LinkKeeper.
func (c *Cache) KeepLinks(ref cache.Ref, dir string) error { return c.links.KeepLinks(ref, dir) }

// TempDir implements cache.Workspace. The folder's name starts with a safe form
// of name.
func (c *Cache) TempDir(name string) (string, error) {
	return c.leases.TempDir(name)
}
