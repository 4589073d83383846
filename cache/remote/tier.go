package remote

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
)

// Options configure a Tier.
type Options struct {
	// Warn, if set, is called once for each kind of trouble with the remote.
	Warn func(text string)
	// Transfers is the number of objects that are transferred at a time; 0 means 8.
	Transfers int
	// patience is set by tests.
	patience patience
}

// Tier is a local cache with a remote one behind it. Methods that neither it nor
// its parts define are the local cache's. It is safe for concurrent use.
type Tier struct {
	*disk.Cache
	*link
	*finder
	*fetcher
	*pusher
}

var _ cache.Cache = (*Tier)(nil)

// New returns a Tier. It sends no request until it has to. The caller closes
// the local cache, after the Tier.
func New(local *disk.Cache, loc Location, opts Options) *Tier {
	if opts.Transfers <= 0 {
		opts.Transfers = 8
	}
	if opts.patience.attempts == 0 {
		opts.patience = defaultPatience
	}
	l := &link{
		local: local, loc: loc, opts: opts,
		slots: make(chan struct{}, opts.Transfers), busy: make(map[digest.ContentID]chan struct{}),
	}
	l.bucket = &bucket{loc: loc, patience: opts.patience, stats: &l.stats, sent: &l.moving.out}
	if loc.s3.google { // it misinterprets conditional writes
		l.bucket.refusals.Store(believed)
	}
	if loc.anyones() {
		l.warn("open", "remote cache %s: every user may write to it, and whoever may decides results; chmod o-w its folder, or give it to a group", loc)
	}
	find := newFinder(l)
	push := &pusher{link: l, finder: find}
	push.queue = newQueue(push.push)
	return &Tier{Cache: local, link: l, finder: find, fetcher: &fetcher{link: l, finder: find}, pusher: push}
}

// Location returns where the remote cache is.
func (t *Tier) Location() Location { return t.loc }

// Stats returns the counts so far.
func (t *Tier) Stats() Stats { return t.stats.stats() }

// Open implements cache.Store. Content that a remote record names is fetched.
func (t *Tier) Open(ctx context.Context, id digest.ContentID) (io.ReadCloser, error) {
	return fetched(ctx, t, id, func() (io.ReadCloser, error) { return t.Cache.Open(ctx, id) })
}

// OpenAt implements cache.RandomStore, like Open.
func (t *Tier) OpenAt(ctx context.Context, id digest.ContentID) (cache.RandomReader, error) {
	return fetched(ctx, t, id, func() (cache.RandomReader, error) { return t.Cache.OpenAt(ctx, id) })
}

// Has implements cache.Store, like Open.
func (t *Tier) Has(ctx context.Context, id digest.ContentID) (int64, error) {
	return fetched(ctx, t, id, func() (int64, error) { return t.Cache.Has(ctx, id) })
}

// Place implements cache.Placer, like Open.
func (t *Tier) Place(ctx context.Context, ref cache.Ref, path string, p cache.Placement) (cache.Placed, error) {
	return fetched(ctx, t, ref.ID, func() (cache.Placed, error) { return t.Cache.Place(ctx, ref, path, p) })
}

// fetched asks the local cache for content, and again once it has been fetched if only a
// remote record names it.
func fetched[T any](ctx context.Context, t *Tier, id digest.ContentID, ask func() (T, error)) (T, error) {
	got, err := ask()
	if errors.Is(err, cache.ErrNotFound) && t.fetcher.fetchRoot(ctx, id) {
		return ask()
	}
	return got, err
}

// Lookup implements cache.Index without network access: it returns a record of
// the local cache, or one that the remote was last known to have.
func (t *Tier) Lookup(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	rec, err := t.Cache.Lookup(ctx, id)
	if !errors.Is(err, cache.ErrNotFound) {
		return rec, err
	}
	if other := t.finder.known.lookup(id); other != nil {
		t.finder.name(other)
		return other, nil
	}
	return nil, err
}

// Record implements cache.Index. The record and its content are stored in the
// remote in the background, unless the result is provisional.
func (t *Tier) Record(ctx context.Context, rec *cache.Record) error {
	if err := t.Cache.Record(ctx, rec); err != nil {
		return err
	}
	if !t.loc.ReadOnly && rec.Final() != nil {
		t.moving.recorded.Add(Size(rec))
		t.pusher.queue.add(copyRecord(rec))
	}
	return nil
}

// Prune implements cache.Drafter. What is being stored in the remote stays until it is.
func (t *Tier) Prune(ctx context.Context, keep ...cache.Ref) (map[digest.ContentID]bool, error) {
	return t.Cache.Prune(ctx, append(keep, t.pusher.queue.content()...)...)
}

// List returns the actions that the remote has a record of, in no particular
// order.
func (t *Tier) List(ctx context.Context) ([]digest.ActionID, error) { return t.finder.List(ctx) }

// Latest implements cache.Relay. A remote that cannot be reached has nothing.
func (t *Tier) Latest(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	rec, err := t.Cache.Lookup(ctx, id)
	afar, farErr := t.FindAfar(ctx, id)
	if farErr != nil || err == nil && rec.Count() >= afar.Count() {
		return rec, err
	}
	return afar, nil
}

// Finish implements cache.Relay.
func (t *Tier) Finish(ctx context.Context) (left int) { return t.pusher.queue.wait(ctx) }

// Close stops all transfers. It does not close the local cache.
func (t *Tier) Close() error {
	t.pusher.queue.close()
	if err := t.bucket.close(); err != nil {
		return fmt.Errorf("close %s: %w", t.loc, maskedError{mask(err.Error())})
	}
	return nil
}
