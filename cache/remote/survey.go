package remote

import (
	"bytes"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Records reads the records in the remote of the actions that pick selects. One
// that is wrong or has vanished is counted and left out. The content of a
// record may not exist.
func (t *Tier) Records(ctx context.Context, pick func(digest.ActionID) bool) ([]*cache.Record, error) {
	ids, err := t.List(ctx)
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id digest.ActionID) bool { return !pick(id) })
	slices.SortFunc(ids, func(a, b digest.ActionID) int { return bytes.Compare(a[:], b[:]) })
	recs := make([]*cache.Record, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askers)
	for i, id := range ids {
		group.Go(func() error {
			rec, _, err := t.finder.readRecord(ctx, id)
			if isDamage(err) {
				t.trouble(ctx, "reading records", err)
				return nil
			}
			recs[i] = rec
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(recs, func(r *cache.Record) bool { return r == nil }), nil
}

// Unfetched returns how many bytes Pull would transfer for a record, and
// whether the record is in the local cache already.
func (t *Tier) Unfetched(ctx context.Context, rec *cache.Record) (n int64, here bool, err error) {
	if old, err := t.Cache.Lookup(ctx, rec.Action); err == nil && old.Final() != nil {
		return 0, true, nil
	}
	for _, ref := range refsOf(rec) {
		if err := t.walk(ctx, ref, nil); err == nil {
			continue
		}
		if ref.Kind != cache.Tree {
			n += ref.Size
			continue
		}
		c, err := t.finder.closure(ctx, ref)
		if err != nil {
			return n, false, err
		}
		n += c.bytes()
	}
	return n, false, nil
}

// Unsent returns how many bytes of content Push would check for a record, and
// whether the remote has all of it already. Parts that exist are not sent again
// but counted.
func (t *Tier) Unsent(ctx context.Context, rec *cache.Record) (n int64, there bool, err error) {
	if _, _, err = t.finder.readRecord(ctx, rec.Action); err != nil && !isDamage(err) {
		return 0, false, err
	}
	there = err == nil
	for _, ref := range refsOf(rec) {
		one := &cache.Record{Outputs: cache.Outputs{"": {Ref: ref}}}
		err := t.finder.present(ctx, one)
		if err != nil && !isDamage(err) {
			return n, false, err
		}
		if err != nil {
			there = false
			n += ref.Size
		}
	}
	return n, there, nil
}
