package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/parallel"
)

// fetchers is the number of results that are fetched at a time. Their objects share
// the Tier's transfers.
const fetchers = 4

// fetcher brings content from the remote into the local cache.
type fetcher struct {
	*link
	finder *finder
}

// fetchRoot fetches content that a remote record names directly, and reports
// whether it did.
func (t *fetcher) fetchRoot(ctx context.Context, id digest.ContentID) bool {
	ref, ok := t.finder.roots.Load(id)
	return ok && t.fetch(ctx, ref.(cache.Ref)) == nil
}

// Fetch fetches the content of records, and records them in the local cache. It
// returns the actions whose content could not be fetched completely. Find does
// not find these again until they are stored again. Content that is already in
// the local cache costs nothing.
func (t *fetcher) Fetch(ctx context.Context, recs []*cache.Record) (lost []digest.ActionID) {
	var mu sync.Mutex
	parallel.Do(len(recs), fetchers, func(i int) {
		if err := t.Pull(ctx, recs[i]); err != nil {
			t.trouble(ctx, "fetching results", err)
			mu.Lock()
			defer mu.Unlock()
			lost = append(lost, recs[i].Action)
		}
	})
	return lost
}

// Pull is Fetch for one record. It returns the error.
func (t *fetcher) Pull(ctx context.Context, rec *cache.Record) error {
	if old, err := t.local.Lookup(ctx, rec.Action); err == nil && (old.Final() != nil || rec.Final() == nil) {
		there(ctx, Size(rec), &t.moving.fetched)
		return nil
	}
	err := t.pull(ctx, rec)
	if err == nil {
		t.stats.fetched.Add(1)
		return nil
	}
	if ctx.Err() == nil {
		t.finder.lost.Store(rec.Action, true)
		t.finder.known.forget(rec.Action)
	}
	return fmt.Errorf("fetch %s: %w", rec.Address, err)
}

func (t *fetcher) pull(ctx context.Context, rec *cache.Record) error {
	var bad damages
	if err := lists.Each(refsOf(rec), func(ref cache.Ref) error { return bad.add(t.fetch(ctx, ref)) }); err != nil {
		return err
	}
	if err := bad.err(); err != nil {
		t.finder.doubt(rec)
		return err
	}
	return t.local.Adopt(ctx, rec)
}

// fetch fetches one object and everything below it.
func (t *fetcher) fetch(ctx context.Context, ref cache.Ref) (err error) {
	ctx, counted := withPortion(ctx, ref, &t.moving.fetched)
	defer func() { counted(err) }()
	release, err := t.alone(ctx, ref.ID)
	if err != nil {
		return err
	}
	defer release()
	if ref.Kind != cache.Tree {
		return t.fetchObject(ctx, ref, ref.ID, ref.Size)
	}
	if err := t.walk(ctx, ref, nil); err == nil || !errors.Is(err, cache.ErrNotFound) {
		return err
	}
	c, err := t.finder.closure(ctx, ref)
	if err != nil {
		return err
	}
	var bad damages
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(2 * transfers)
	for _, p := range c.packs {
		group.Go(func() error { return bad.add(t.fetchPack(inner, ref, p)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := t.fetchLarge(ctx, ref, &bad); err != nil {
		return err
	}
	return bad.err()
}

// fetchLarge fetches the objects that are not in packs, and checks that none is
// missing.
func (t *fetcher) fetchLarge(ctx context.Context, root cache.Ref, bad *damages) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(2 * transfers)
	err := t.walk(inner, root, func(ref cache.Ref) error {
		if ref.Kind == cache.Tree { // the walk cannot go on without it
			return t.fetchObject(inner, root, ref.ID, -1)
		}
		group.Go(func() error { return bad.add(t.fetchObject(inner, root, ref.ID, ref.Size)) })
		return nil
	})
	if other := group.Wait(); other != nil {
		return other
	}
	return bad.add(err)
}

// damages collects the wrong and missing objects. One pass finds all of them, and
// one push from a machine that has the content repairs them.
type damages struct{ first atomic.Pointer[error] }

// add keeps damage and returns any other error.
func (d *damages) add(err error) error {
	if !isDamage(err) {
		return err
	}
	d.first.CompareAndSwap(nil, &err)
	return nil
}

func (d *damages) err() error {
	if first := d.first.Load(); first != nil {
		return *first
	}
	return nil
}

// isDamage reports whether an error means that content in the remote is wrong or
// missing.
func isDamage(err error) bool {
	return errors.Is(err, cache.ErrCorrupt) || errors.Is(err, cache.ErrNotFound)
}

// fetchPack fetches the missing objects of a pack.
func (t *fetcher) fetchPack(ctx context.Context, root cache.Ref, p packRef) error {
	release, err := t.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	key := packKey(p.id)
	rest := packRest{id: p.id}
	for more := true; more && err == nil; more = len(rest.objects) > 0 {
		err = t.bucket.read(ctx, key, func() (int64, int64) { return rest.offset, -1 }, func(r io.Reader, _ int64) error {
			return t.unpack(ctx, bufio.NewReaderSize(r, 64<<10), &rest)
		})
	}
	return t.refuse(ctx, root, key, err)
}

// packRest is what is left of a pack: its objects from an offset on, which is 0 until
// the index has been read.
type packRest struct {
	id      digest.ContentID
	offset  int64
	objects []object
}

func (p *packRest) next() {
	p.offset += p.objects[0].size
	p.objects = p.objects[1:]
}

// farApart is the number of bytes of present objects for which another request is
// cheaper than to read past them.
const farApart = 4 << 20

// commitsAhead is the number of objects of a pack that are stored at a time. Most of
// that is waiting for the file system.
const commitsAhead = 4

// unpack stores the missing objects of the rest of a pack, up to the end or to one that
// is far from the one before. After an error, rest begins with the first object that
// did not arrive, or as it did if one could not be stored.
func (t *fetcher) unpack(ctx context.Context, r *bufio.Reader, rest *packRest) (err error) {
	if rest.offset == 0 {
		if rest.objects, rest.offset, err = readIndex(r, rest.id); err != nil {
			return err
		}
	}
	began := *rest
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(commitsAhead)
	err = t.receive(inner, group, r, rest)
	if other := group.Wait(); other != nil {
		*rest, err = began, other
	}
	return err
}

// receive reads what unpack stores, and lets the group store it.
func (t *fetcher) receive(ctx context.Context, group *errgroup.Group, r *bufio.Reader, rest *packRest) error {
	for at := rest.offset; len(rest.objects) > 0 && ctx.Err() == nil; rest.next() {
		o := rest.objects[0]
		if _, err := t.local.Has(ctx, o.id); err == nil {
			continue
		}
		if rest.offset-at > farApart {
			return nil
		}
		if _, err := r.Discard(int(rest.offset - at)); err != nil {
			return noEOF(err)
		}
		in, err := t.local.Ingest(ctx, "")
		if err != nil {
			return localError{err}
		}
		if err := receiveBytes(in, r, o.size); err != nil {
			return errors.Join(err, in.Close())
		}
		group.Go(func() error {
			_, err := in.Commit(ctx, cache.Ref{Kind: cache.Blob, ID: o.id, Size: o.size})
			if err != nil && !errors.Is(err, cache.ErrCorrupt) {
				err = localError{err}
			}
			return errors.Join(err, in.Close())
		})
		at = rest.offset + o.size
	}
	return context.Cause(ctx)
}

// receiveBytes writes the next size bytes straight from the buffer.
func receiveBytes(in cache.Ingest, r *bufio.Reader, size int64) error {
	for size > 0 {
		if _, err := r.Peek(1); err != nil {
			return noEOF(err)
		}
		part, _ := r.Peek(int(min(size, int64(r.Buffered()))))
		if _, err := in.Write(part); err != nil {
			return localError{err}
		}
		_, _ = r.Discard(len(part))
		size -= int64(len(part))
	}
	return nil
}

// noEOF turns an unexpected end of data into an error.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// refuse records that an object is wrong or missing although a marker or a record
// names it. Nothing relies on the object afterwards, and the next push from a
// machine that has the content stores it again.
func (t *fetcher) refuse(ctx context.Context, root cache.Ref, key string, err error) error {
	if !isDamage(err) {
		return err
	}
	corrupt := errors.Is(err, cache.ErrCorrupt)
	if corrupt {
		t.stats.corrupt.Add(1)
	}
	t.finder.bad.Store(key, true)
	if root.Kind == cache.Tree {
		t.finder.bad.Store(closureKey(root.ID), true)
	}
	t.finder.closures.Delete(root.ID)
	t.finder.blobs.Delete(root.ID)
	if t.loc.ReadOnly {
		return err
	}
	if root.Kind == cache.Tree {
		t.drop(ctx, closureKey(root.ID))
	}
	if corrupt {
		t.drop(ctx, key)
	}
	return err
}

// drop removes a bad object.
func (t *fetcher) drop(ctx context.Context, key string) {
	ctx = context.WithoutCancel(ctx) // a single request, next to which others may fail
	if err := t.bucket.remove(ctx, key); err != nil {
		t.trouble(ctx, "removing damaged objects", err)
	}
}
