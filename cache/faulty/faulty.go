package faulty

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// ErrCrash simulates the death of the process: nothing that the failed call
// would have published exists.
var ErrCrash = errors.New("the process died here (injected)")

// Inner is a cache that can be wrapped.
type Inner interface {
	cache.Cache
	// Corrupt removes an object and the records that lead to it, as a cache on
	// disk does when it finds it damaged.
	Corrupt(id digest.ContentID)
}

// Faults select the calls that fail. Nil functions and zero limits inject nothing.
// Functions may be called concurrently.
type Faults struct {
	// Flip selects objects that are read with a flipped bit, Short those that end
	// half-way. Corrupt is then called on the inner cache.
	Flip, Short func(digest.ContentID) bool
	// Read returns an error with which reading an object fails half-way.
	Read func(digest.ContentID) error
	// Space, if set, is the number of bytes that can be written before the disk is
	// full.
	Space *atomic.Int64
	// Commit returns an error instead of publishing an object, such as
	// ErrCrash; the bytes of an ingest with a key are kept.
	Commit func(cache.Ref) error
	// Record returns an error instead of keeping a record.
	Record func(*cache.Record) error
	// Reserve returns an error instead of reserving space.
	Reserve func(bytes int64) error
	// Lookup returns an error instead of looking an action up.
	Lookup func(digest.ActionID) error
}

// Cache is a cache with faults. Files are always copies, so that all content
// passes through its readers.
type Cache struct {
	inner  Inner
	mu     sync.RWMutex
	faults Faults
	// Opens, Commits, Records and Lookups count the calls that reached the
	// wrapper, failed or not.
	Opens, Commits, Records, Lookups atomic.Int64
}

var _ cache.Cache = (*Cache)(nil)

// Wrap returns inner without faults, until Set gives it some.
func Wrap(inner Inner) *Cache { return &Cache{inner: inner} }

// Set replaces the faults.
func (c *Cache) Set(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

func (c *Cache) now() Faults {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.faults
}

// Open implements cache.Store.
func (c *Cache) Open(ctx context.Context, id digest.ContentID) (io.ReadCloser, error) {
	c.Opens.Add(1)
	f := c.now()
	size, err := c.inner.Has(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := c.inner.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &reader{ReadCloser: r, id: id, half: size / 2}
	switch {
	case (f.Flip != nil && f.Flip(id)) || (f.Short != nil && f.Short(id)):
		out.fault = fmt.Errorf("read object %s: %w", id.Short(), cache.ErrCorrupt)
		out.noticed = sync.OnceFunc(func() { c.inner.Corrupt(id) })
	case f.Read != nil:
		if err := f.Read(id); err != nil {
			out.fault = fmt.Errorf("read object %s: %w", id.Short(), err)
		}
	}
	return out, nil
}

// reader fails after half of the object if it has a fault. A flipped bit or a
// short file is noticed before the last byte at the latest.
type reader struct {
	io.ReadCloser
	id    digest.ContentID
	half  int64
	read  int64
	fault error
	// noticed, if set, is called when the fault is noticed.
	noticed func()
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.fault == nil {
		return r.ReadCloser.Read(p)
	}
	if r.read >= r.half {
		if r.noticed != nil {
			r.noticed()
		}
		return 0, r.fault
	}
	n, err := r.ReadCloser.Read(p[:min(int64(len(p)), r.half-r.read)])
	r.read += int64(n)
	return n, err
}

// Has implements cache.Store.
func (c *Cache) Has(ctx context.Context, id digest.ContentID) (int64, error) {
	return c.inner.Has(ctx, id)
}

// Ingest implements cache.Store.
func (c *Cache) Ingest(ctx context.Context, key string) (cache.Ingest, error) {
	in, err := c.inner.Ingest(ctx, key)
	if err != nil {
		return nil, err
	}
	return &ingest{Ingest: in, c: c, hash: digest.NewWriter(), known: in.Offset() == 0}, nil
}

// ingest is a blob being written to a cache with faults.
type ingest struct {
	cache.Ingest
	c    *Cache
	hash *digest.Writer
	// known is true if hash has seen all bytes.
	known bool
}

// Write implements io.Writer.
func (in *ingest) Write(p []byte) (int, error) {
	space := in.c.now().Space
	if space == nil {
		return in.write(p)
	}
	left := space.Add(-int64(len(p)))
	if left >= 0 {
		return in.write(p)
	}
	n, err := in.write(p[:max(int64(len(p))+left, 0)])
	space.Store(0)
	if err == nil {
		err = fmt.Errorf("ingest object: %w", syscall.ENOSPC)
	}
	return n, err
}

func (in *ingest) write(p []byte) (int, error) {
	n, err := in.Ingest.Write(p)
	_, _ = in.hash.Write(p[:n])
	return n, err
}

// Reset implements cache.Ingest.
func (in *ingest) Reset() error {
	in.hash, in.known = digest.NewWriter(), true
	return in.Ingest.Reset()
}

// Commit implements cache.Ingest.
func (in *ingest) Commit(ctx context.Context, want cache.Ref) (cache.Ref, error) {
	in.c.Commits.Add(1)
	if fault := in.c.now().Commit; fault != nil {
		ref := want
		if in.known {
			ref = cache.Ref{Kind: cache.Blob, ID: in.hash.ID(), Size: in.hash.Size()}
		}
		if err := fault(ref); err != nil {
			return cache.Ref{}, errors.Join(fmt.Errorf("ingest object: %w", err), in.Close())
		}
	}
	return in.Ingest.Commit(ctx, want)
}

// Lookup implements cache.Index.
func (c *Cache) Lookup(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	c.Lookups.Add(1)
	if fault := c.now().Lookup; fault != nil {
		if err := fault(id); err != nil {
			return nil, fmt.Errorf("look up action %s: %w", id.Short(), err)
		}
	}
	return c.inner.Lookup(ctx, id)
}

// Record implements cache.Index.
func (c *Cache) Record(ctx context.Context, rec *cache.Record) error {
	c.Records.Add(1)
	if fault := c.now().Record; fault != nil {
		if err := fault(rec); err != nil {
			return fmt.Errorf("record action %s: %w", rec.Action.Short(), err)
		}
	}
	return c.inner.Record(ctx, rec)
}

// Evicted implements cache.Index.
func (c *Cache) Evicted(ctx context.Context, id digest.ActionID) (cache.Tombstone, error) {
	return c.inner.Evicted(ctx, id)
}

// Each implements cache.Lister.
func (c *Cache) Each(ctx context.Context, fn func(*cache.Record) error) error {
	return c.inner.Each(ctx, fn)
}

// LockAction implements cache.Locker.
func (c *Cache) LockAction(ctx context.Context, id digest.ActionID) (func(), error) {
	return c.inner.LockAction(ctx, id)
}

// TempDir implements cache.Workspace.
func (c *Cache) TempDir(name string) (string, error) { return c.inner.TempDir(name) }

// Place implements cache.Placer, by a copy.
func (c *Cache) Place(ctx context.Context, ref cache.Ref, path string, p cache.Placement) (cache.Placed, error) {
	return cache.Plain{Store: c}.Place(ctx, ref, path, p)
}

// OpenAt implements cache.RandomStore, by a copy.
func (c *Cache) OpenAt(ctx context.Context, id digest.ContentID) (cache.RandomReader, error) {
	return cache.Plain{Store: c}.OpenAt(ctx, id)
}

// Reserve implements cache.Reserver.
func (c *Cache) Reserve(ctx context.Context, bytes int64) (func(), error) {
	if fault := c.now().Reserve; fault != nil {
		if err := fault(bytes); err != nil {
			return nil, fmt.Errorf("reserve %d bytes in the cache: %w", bytes, err)
		}
	}
	return c.inner.Reserve(ctx, bytes)
}

// Keep implements cache.Keeper.
func (c *Cache) Keep(ctx context.Context, key string) (string, func(keep bool) error, error) {
	return c.inner.Keep(ctx, key)
}

// Kept implements cache.Keeper.
func (c *Cache) Kept(ctx context.Context) ([]cache.Kept, error) { return c.inner.Kept(ctx) }

// Share implements cache.Sharer.
func (c *Cache) Share(ctx context.Context, ref cache.Ref, progress func(files, bytes int64)) (cache.Shared, error) {
	return c.inner.Share(ctx, ref, progress)
}

// ShareCost implements cache.Sharer.
func (c *Cache) ShareCost(ref cache.Ref) (files, bytes int64) { return c.inner.ShareCost(ref) }

// TakeLinks implements cache.LinkKeeper.
func (c *Cache) TakeLinks(ctx context.Context, ref cache.Ref, dst string) (taken bool, made func(folders []string), err error) {
	return c.inner.TakeLinks(ctx, ref, dst)
}

// KeepLinks implements cache.LinkKeeper.
func (c *Cache) KeepLinks(ref cache.Ref, dir string) error { return c.inner.KeepLinks(ref, dir) }

// Latest implements cache.Relay.
func (c *Cache) Latest(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	return c.inner.Latest(ctx, id)
}

// Finish implements cache.Relay.
func (c *Cache) Finish(ctx context.Context) int { return c.inner.Finish(ctx) }

// Prune implements cache.Drafter.
func (c *Cache) Prune(ctx context.Context, keep ...cache.Ref) (map[digest.ContentID]bool, error) {
	return c.inner.Prune(ctx, keep...)
}

// Sync implements cache.Relay.
func (c *Cache) Sync(ctx context.Context) error { return c.inner.Sync(ctx) }
