package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/parallel"
)

const (
	// askers is the number of records that are requested at a time. Such a request is
	// all latency, so there may be many.
	askers = 32
	// manyRecords is the number of records from which listing the names of all, in
	// at least 256 requests, is cheaper than asking for each.
	manyRecords = 1000
)

// finder keeps the last known content of the remote.
type finder struct {
	*link
	known *known

	// roots has the cache.Ref of the content that records in the remote name, and closures
	// the valid markers that were read, each by its digest.
	roots, closures sync.Map
	// blobs are the digests of objects that were found present.
	blobs sync.Map
	// lost are actions whose content could not be fetched. They count as misses until
	// they are stored again.
	lost sync.Map
	// bad are names of objects that must be rewritten.
	bad sync.Map
}

// name remembers the content that a remote record names.
func (t *finder) name(rec *cache.Record) {
	for _, ref := range refsOf(rec) {
		t.roots.Store(ref.ID, ref)
	}
}

// Find looks actions up in the local cache and, if they are not there, in the
// remote. The result is nil for an action that neither has with all its content.
// Content that is found in the remote is not fetched; see Fetch.
func (t *finder) Find(ctx context.Context, ids []digest.ActionID) []*cache.Record {
	found := make([]*cache.Record, len(ids))
	var ask []int
	for i, id := range ids {
		if rec, err := t.local.Lookup(ctx, id); err == nil {
			found[i] = rec
		}
		if _, lost := t.lost.Load(id); !lost && found[i].Final() == nil {
			ask = append(ask, i)
		}
	}
	if len(ask) > manyRecords {
		ask = t.listed(ctx, ids, ask)
	}
	parallel.Do(len(ask), askers, func(n int) {
		rec, err := t.find(ctx, ids[ask[n]])
		if err != nil && !errors.Is(err, cache.ErrNotFound) {
			t.trouble(ctx, "looking results up", err)
		}
		if rec == nil {
			t.stats.misses.Add(1)
			return
		}
		found[ask[n]] = rec
		t.stats.hits.Add(1)
	})
	return found
}

// listed keeps the actions that a list of all records contains. A list may be
// stale: a record that is not in it yet is a miss now and found the next time.
func (t *finder) listed(ctx context.Context, ids []digest.ActionID, ask []int) []int {
	there, err := t.List(ctx)
	if err != nil {
		return ask // cheaper one by one
	}
	all := lists.Set(there)
	return lists.Where(ask, func(i int) bool { return all[ids[i]] })
}

// List is Tier.List.
func (t *finder) List(ctx context.Context) ([]digest.ActionID, error) {
	if err := t.bucket.checkFormat(ctx, false); err != nil {
		return nil, err
	}
	var found [256][]digest.ActionID
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askers)
	for i := range found {
		group.Go(func() error {
			return t.bucket.list(ctx, fmt.Sprintf("%s/%02x/", actionsName, i), func(key string) {
				if id, ok := actionOf(key); ok {
					found[i] = append(found[i], id)
				}
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(found[:]...), nil
}

// find returns the record of an action if the remote has all its content.
func (t *finder) find(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	rec, data, err := t.readRecord(ctx, id)
	if err == nil {
		err = lists.Each(refsOf(rec), func(ref cache.Ref) error { return t.present(ctx, ref) })
		if isDamage(err) {
			t.doubt(rec)
		}
	}
	switch {
	case err == nil:
		t.known.add(id, data)
		t.name(rec)
		return rec, nil
	case errors.Is(err, cache.ErrNotFound), errors.Is(err, cache.ErrCorrupt):
		t.known.forget(id)
	}
	return nil, err
}

// readRecord reads a record whether or not its content exists.
func (t *finder) readRecord(ctx context.Context, id digest.ActionID) (rec *cache.Record, data []byte, err error) {
	if err := t.bucket.checkFormat(ctx, false); err != nil {
		return nil, nil, err
	}
	key := actionKey(id)
	err = t.get(ctx, key, maxRecord, func(text []byte) (err error) {
		data = bytes.Clone(text)
		rec, err = decodeRecord(id, text)
		return err
	})
	return rec, data, err
}

// get reads an object, and notes one that is wrong.
func (t *finder) get(ctx context.Context, key string, limit int64, parse func([]byte) error) error {
	err := t.bucket.get(ctx, key, limit, parse)
	if errors.Is(err, cache.ErrCorrupt) {
		t.stats.corrupt.Add(1)
		t.bad.Store(key, true)
	}
	return err
}

// present makes sure that the remote has all of a tree or blob.
func (t *finder) present(ctx context.Context, ref cache.Ref) error {
	if ref.Kind == cache.Tree {
		_, err := t.closure(ctx, ref)
		return err
	}
	return t.presentBlob(ctx, ref)
}

func (t *finder) presentBlob(ctx context.Context, ref cache.Ref) error {
	if _, known := t.blobs.Load(ref.ID); known {
		return nil
	}
	err := t.has(ctx, objectKey(ref.ID), ref.Size)
	if err == nil {
		t.blobs.Store(ref.ID, true)
	}
	return err
}

// has returns cache.ErrNotFound unless an object of that size exists and was
// not found wrong.
func (t *finder) has(ctx context.Context, key string, size int64) error {
	if t.isBad(key) {
		return fmt.Errorf("find %s: %w", key, cache.ErrNotFound)
	}
	n, err := t.bucket.size(ctx, key)
	if err == nil && n != size {
		t.bad.Store(key, true)
		err = fmt.Errorf("find %s: %w: it has %d bytes, not %d", key, cache.ErrNotFound, n, size)
	}
	return err
}

// closure reads the marker of a tree.
func (t *finder) closure(ctx context.Context, root cache.Ref) (*closure, error) {
	if c, ok := t.closures.Load(root.ID); ok {
		return c.(*closure), nil
	}
	key := closureKey(root.ID)
	if t.isBad(key) {
		return nil, fmt.Errorf("find %s: %w", key, cache.ErrNotFound)
	}
	var c *closure
	err := t.get(ctx, key, maxClosure, func(data []byte) (err error) {
		c, err = decodeClosure(root, data)
		return err
	})
	if err != nil {
		return nil, err
	}
	t.closures.Store(root.ID, c)
	return c, nil
}

func (t *finder) isBad(key string) bool {
	_, bad := t.bad.Load(key)
	return bad
}

// doubt makes the next push of a record check everything again.
func (t *finder) doubt(rec *cache.Record) {
	for _, ref := range refsOf(rec) {
		t.blobs.Delete(ref.ID)
		if ref.Kind == cache.Tree {
			t.bad.Store(closureKey(ref.ID), true)
			t.closures.Delete(ref.ID)
		}
	}
}
