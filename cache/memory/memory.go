package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Cache is a cache in memory. The zero value is not ready; see
// New. It is safe for concurrent use.
type Cache struct {
	mu      sync.RWMutex
	objects map[digest.ContentID][]byte
	records map[digest.ActionID]*cache.Record
	tombs   map[digest.ActionID]cache.Tombstone
	// partial holds keyed ingests that were closed. busy holds open ones, each
	// with a channel that is closed with it.
	partial map[string][]byte
	busy    map[string]chan struct{}
	actions map[digest.ActionID]chan struct{}
	space   space
	keeping keeping
}

var _ cache.Cache = (*Cache)(nil)

// New returns an empty cache.
func New() *Cache {
	c := &Cache{
		objects: make(map[digest.ContentID][]byte),
		records: make(map[digest.ActionID]*cache.Record),
		tombs:   make(map[digest.ActionID]cache.Tombstone),
		partial: make(map[string][]byte),
		busy:    make(map[string]chan struct{}),
		actions: make(map[digest.ActionID]chan struct{}),
		keeping: keeping{held: make(map[string]chan struct{}), dirs: make(map[string]string)},
	}
	c.space.pool.Left = new(atomic.Int64)
	return c
}

func (c *Cache) object(id digest.ContentID) ([]byte, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	data, ok := c.objects[id]
	if !ok {
		return nil, fmt.Errorf("find object %s: %w", id.Short(), cache.ErrNotFound)
	}
	return data, nil
}

// Open implements cache.Store.
func (c *Cache) Open(ctx context.Context, id digest.ContentID) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := c.object(id)
	if err != nil {
		return nil, err
	}
	if digest.Of(data) != id {
		return &reader{Reader: bytes.NewReader(data), corrupt: func() { c.Corrupt(id) }, id: id}, nil
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// reader returns an object that a test has damaged, except for its last byte.
type reader struct {
	*bytes.Reader
	id      digest.ContentID
	corrupt func()
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.Len() > len(p) {
		return r.Reader.Read(p)
	}
	r.corrupt()
	return 0, fmt.Errorf("read object %s: %w", r.id.Short(), cache.ErrCorrupt)
}

// Close implements io.Closer.
func (r *reader) Close() error { return nil }

// Has implements cache.Store.
func (c *Cache) Has(_ context.Context, id digest.ContentID) (int64, error) {
	data, err := c.object(id)
	return int64(len(data)), err
}

// OpenAt implements cache.RandomStore.
func (c *Cache) OpenAt(_ context.Context, id digest.ContentID) (cache.RandomReader, error) {
	data, err := c.object(id)
	if err != nil {
		return nil, err
	}
	return randomReader{bytes.NewReader(data)}, nil
}

// Place implements cache.Placer, by a copy.
func (c *Cache) Place(ctx context.Context, ref cache.Ref, path string, p cache.Placement) (cache.Placed, error) {
	return cache.Plain{Store: c}.Place(ctx, ref, path, p)
}

// Share implements cache.Sharer. It always fails: there is no folder to share.
func (c *Cache) Share(_ context.Context, ref cache.Ref, _ func(files, bytes int64)) (cache.Shared, error) {
	return nil, fmt.Errorf("share %s: %w: the cache is in memory", ref.ID.Short(), errors.ErrUnsupported)
}

// ShareCost implements cache.Sharer: each reader has a copy of its own.
func (c *Cache) ShareCost(ref cache.Ref) (files, bytes int64) { return ref.Files, ref.Size }

// TakeLinks implements cache.LinkKeeper: there are no links.
func (c *Cache) TakeLinks(context.Context, cache.Ref, string) (taken bool, made func(folders []string), err error) {
	return false, func([]string) {}, nil
}

// KeepLinks implements cache.LinkKeeper: it keeps nothing.
func (c *Cache) KeepLinks(cache.Ref, string) error { return nil }

type randomReader struct{ *bytes.Reader }

func (randomReader) Close() error { return nil }

// Lookup implements cache.Index.
func (c *Cache) Lookup(_ context.Context, id digest.ActionID) (*cache.Record, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	rec, ok := c.records[id]
	if !ok {
		return nil, fmt.Errorf("look up action %s: %w", id.Short(), cache.ErrNotFound)
	}
	if err := c.complete(rec); err != nil {
		return nil, fmt.Errorf("look up action %s: %w", id.Short(), err)
	}
	return rec, nil
}

// complete returns cache.ErrNotFound unless all outputs of rec are present.
func (c *Cache) complete(rec *cache.Record) error {
	for name, v := range rec.Outputs {
		if _, ok := c.objects[v.Ref.ID]; !ok && !v.Ref.IsZero() {
			return fmt.Errorf("output %q, object %s: %w", name, v.Ref.ID.Short(), cache.ErrNotFound)
		}
	}
	return nil
}

// Record implements cache.Index.
func (c *Cache) Record(_ context.Context, rec *cache.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.complete(rec); err != nil {
		return fmt.Errorf("record action %s: %w", rec.Action.Short(), err)
	}
	kept := *rec
	kept.Fields = slices.Clone(rec.Fields)
	kept.Outputs = maps.Clone(rec.Outputs)
	c.records[rec.Action] = &kept
	delete(c.tombs, rec.Action)
	return nil
}

// Evicted implements cache.Index.
func (c *Cache) Evicted(_ context.Context, id digest.ActionID) (cache.Tombstone, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	t, ok := c.tombs[id]
	if !ok {
		return t, fmt.Errorf("find tombstone of action %s: %w", id.Short(), cache.ErrNotFound)
	}
	return t, nil
}

// Each implements cache.Lister.
func (c *Cache) Each(_ context.Context, fn func(*cache.Record) error) error {
	c.mu.RLock()
	all := slices.Collect(maps.Values(c.records))
	c.mu.RUnlock()
	slices.SortFunc(all, func(a, b *cache.Record) int { return cmp.Compare(a.StartedUnixMilli, b.StartedUnixMilli) })
	for _, rec := range all {
		if err := fn(rec); err != nil {
			return err
		}
	}
	return nil
}

// TempDir implements cache.Workspace.
func (c *Cache) TempDir(string) (string, error) { return os.MkdirTemp("", "mleflow-work-") }

// LockAction implements cache.Locker for the users of c.
func (c *Cache) LockAction(ctx context.Context, id digest.ActionID) (func(), error) {
	done, err := acquire(ctx, &c.mu, c.actions, id)
	if err != nil {
		return nil, fmt.Errorf("lock action %s: %w", id.Short(), err)
	}
	return sync.OnceFunc(done), nil
}

// acquire waits until nobody holds key, and then holds it.
func acquire[K comparable](ctx context.Context, mu *sync.RWMutex, held map[K]chan struct{}, key K) (release func(), err error) {
	for {
		mu.Lock()
		wait, taken := held[key]
		if !taken {
			mine := make(chan struct{})
			held[key] = mine
			mu.Unlock()
			return func() {
				mu.Lock()
				delete(held, key)
				mu.Unlock()
				close(mine)
			}, nil
		}
		mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Latest implements cache.Relay; there is no other machine.
func (c *Cache) Latest(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	return c.Lookup(ctx, id)
}

// Finish implements cache.Relay.
func (c *Cache) Finish(context.Context) int { return 0 }

// Prune implements cache.Drafter; what is in memory stays.
func (c *Cache) Prune(context.Context, ...cache.Ref) (map[digest.ContentID]bool, error) {
	return nil, nil
}

// Sync implements cache.Relay.
func (c *Cache) Sync(context.Context) error { return nil }
