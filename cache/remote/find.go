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

	// mu guards the fields below.
	mu sync.Mutex
	// roots is the content named by records that were found in the remote.
	roots map[digest.ContentID]cache.Ref
	// closures are the valid markers that were read; blobs are the objects that
	// were found present.
	closures map[digest.ContentID]*closure
	blobs    map[digest.ContentID]bool
	// lost are actions whose content could not be fetched. They count as misses until
	// they are stored again.
	lost map[digest.ActionID]bool
	// bad are names of objects that must be rewritten.
	bad map[string]bool
}

func newFinder(l *link) *finder {
	return &finder{
		link: l, known: newKnown(l.local, l.loc),
		roots: make(map[digest.ContentID]cache.Ref), closures: make(map[digest.ContentID]*closure),
		blobs: make(map[digest.ContentID]bool), lost: make(map[digest.ActionID]bool), bad: make(map[string]bool),
	}
}

// name remembers the content that a remote record names.
func (t *finder) name(rec *cache.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ref := range refsOf(rec) {
		t.roots[ref.ID] = ref
	}
}

// Find looks actions up in the local cache and, if they are not there, in the
// remote. The result is nil for an action that neither has with all its content.
// Content that is found in the remote is not fetched; see Fetch.
func (t *finder) Find(ctx context.Context, ids []digest.ActionID) []*cache.Record {
	found := make([]*cache.Record, len(ids))
	var ask []int
	for i, id := range ids {
		rec, err := t.local.Lookup(ctx, id)
		switch {
		case err == nil:
			if found[i] = rec; rec.Final() == nil && !t.isLost(id) {
				ask = append(ask, i)
			}
		case !t.isLost(id):
			ask = append(ask, i)
		}
	}
	if len(ask) > manyRecords {
		ask = t.listed(ctx, ids, ask)
	}
	var group errgroup.Group
	group.SetLimit(askers)
	for _, i := range ask {
		group.Go(func() error {
			rec, err := t.find(ctx, ids[i])
			if err != nil && !errors.Is(err, cache.ErrNotFound) {
				t.trouble(ctx, "looking results up", err)
			}
			if rec == nil {
				t.stats.misses.Add(1)
				return nil
			}
			found[i] = rec
			t.stats.hits.Add(1)
			return nil
		})
	}
	_ = group.Wait()
	return found
}

// listed keeps the actions that a list of all records contains. A list may be
// stale: a record that is not in it yet is a miss now and found the next time.
func (t *finder) listed(ctx context.Context, ids []digest.ActionID, ask []int) []int {
	there, err := t.List(ctx)
	if err != nil {
		return ask // cheaper one by one
	}
	all := make(map[digest.ActionID]bool, len(there))
	for _, id := range there {
		all[id] = true
	}
	var left []int
	for _, i := range ask {
		if all[ids[i]] {
			left = append(left, i)
		}
	}
	return left
}

// List is Tier.List.
func (t *finder) List(ctx context.Context) ([]digest.ActionID, error) {
	if err := t.bucket.checkFormat(ctx, false); err != nil {
		return nil, err
	}
	var lists [256][]digest.ActionID
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askers)
	for i := range lists {
		group.Go(func() error {
			return t.bucket.list(ctx, fmt.Sprintf("%s/%02x/", actionsName, i), func(key string) {
				if id, ok := actionOf(key); ok {
					lists[i] = append(lists[i], id)
				}
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(lists[:]...), nil
}

func (t *finder) isLost(id digest.ActionID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost[id]
}

// find returns the record of an action if the remote has all its content.
func (t *finder) find(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	rec, data, err := t.readRecord(ctx, id)
	if err == nil {
		if err = t.present(ctx, rec); isDamage(err) {
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
	err = t.bucket.get(ctx, key, maxRecord, func(text []byte) (err error) {
		data = bytes.Clone(text)
		rec, err = decodeRecord(id, text)
		return err
	})
	if errors.Is(err, cache.ErrCorrupt) {
		t.stats.corrupt.Add(1)
		t.markBad(key)
	}
	return rec, data, err
}

// present makes sure that the remote has everything that a record names.
func (t *finder) present(ctx context.Context, rec *cache.Record) error {
	for _, ref := range refsOf(rec) {
		var err error
		if ref.Kind == cache.Tree {
			_, err = t.closure(ctx, ref)
		} else {
			err = t.presentBlob(ctx, ref)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *finder) presentBlob(ctx context.Context, ref cache.Ref) error {
	t.mu.Lock()
	known := t.blobs[ref.ID]
	t.mu.Unlock()
	if known {
		return nil
	}
	if err := t.has(ctx, objectKey(ref.ID), ref.Size); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.blobs[ref.ID] = true
	return nil
}

// has returns cache.ErrNotFound unless an object of that size exists and was
// not found wrong.
func (t *finder) has(ctx context.Context, key string, size int64) error {
	if t.isBad(key) {
		return fmt.Errorf("find %s: %w", key, cache.ErrNotFound)
	}
	n, err := t.bucket.size(ctx, key)
	if err == nil && n != size {
		t.markBad(key)
		err = fmt.Errorf("find %s: %w: it has %d bytes, not %d", key, cache.ErrNotFound, n, size)
	}
	return err
}

// closure reads the marker of a tree.
func (t *finder) closure(ctx context.Context, root cache.Ref) (*closure, error) {
	t.mu.Lock()
	c := t.closures[root.ID]
	t.mu.Unlock()
	if c != nil {
		return c, nil
	}
	key := closureKey(root.ID)
	if t.isBad(key) {
		return nil, fmt.Errorf("find %s: %w", key, cache.ErrNotFound)
	}
	err := t.bucket.get(ctx, key, maxClosure, func(data []byte) (err error) {
		c, err = decodeClosure(root, data)
		return err
	})
	if errors.Is(err, cache.ErrCorrupt) {
		t.stats.corrupt.Add(1)
		t.markBad(key)
	}
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closures[root.ID] = c
	return c, nil
}

func (t *finder) isBad(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bad[key]
}

func (t *finder) markBad(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bad[key] = true
}

func (t *finder) markGood(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.bad, key)
}

// doubt makes the next push of a record check everything again.
func (t *finder) doubt(rec *cache.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ref := range refsOf(rec) {
		delete(t.blobs, ref.ID)
		if ref.Kind == cache.Tree {
			delete(t.closures, ref.ID)
			t.bad[closureKey(ref.ID)] = true
		}
	}
}
