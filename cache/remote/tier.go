package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
)

// Options say how a Tier behaves.
type Options struct {
	// Warn is told, once for each kind of trouble, what goes wrong with the
	// remote; nil is nobody.
	Warn func(text string)
	// Transfers is how many objects are transferred at a time; 0 means 8.
	Transfers int
	// patience is set by tests.
	patience patience
}

// Tier is a local cache with a remote one behind it. All that it does not do
// itself is the local cache's. It is safe for concurrent use.
type Tier struct {
	*disk.Cache
	loc    Location
	opts   Options
	bucket *bucket
	stats  counters
	known  *known
	slots  chan struct{}
	queue  *queue
	warned sync.Map

	mu sync.Mutex
	// roots is the content that records found in the remote name.
	roots map[digest.ContentID]cache.Ref
	// closures are markers that were read and hold; blobs are objects that
	// were found present.
	closures map[digest.ContentID]*closure
	blobs    map[digest.ContentID]bool
	// lost are actions whose content could not be had; they are misses until
	// they are stored anew.
	lost map[digest.ActionID]bool
	// bad are names of objects that must be written anew.
	bad map[string]bool
	// busy are roots that are being transferred.
	busy map[digest.ContentID]chan struct{}
}

var _ cache.Cache = (*Tier)(nil)

// New returns a Tier. Nothing is asked of the remote until it is needed. The
// local cache stays the caller's to close, after the Tier.
func New(local *disk.Cache, loc Location, opts Options) *Tier {
	if opts.Transfers <= 0 {
		opts.Transfers = 8
	}
	if opts.patience.attempts == 0 {
		opts.patience = defaultPatience
	}
	t := &Tier{
		Cache: local, loc: loc, opts: opts, known: newKnown(local, loc),
		slots: make(chan struct{}, opts.Transfers),
		roots: make(map[digest.ContentID]cache.Ref), closures: make(map[digest.ContentID]*closure),
		blobs: make(map[digest.ContentID]bool), lost: make(map[digest.ActionID]bool),
		bad: make(map[string]bool), busy: make(map[digest.ContentID]chan struct{}),
	}
	t.bucket = &bucket{loc: loc, patience: opts.patience, stats: &t.stats}
	t.queue = newQueue(t.push)
	return t
}

// Location returns where the remote cache is.
func (t *Tier) Location() Location { return t.loc }

// Stats returns what was done so far.
func (t *Tier) Stats() Stats { return t.stats.stats() }

// Open implements cache.Store. Content that a remote record names is fetched.
func (t *Tier) Open(ctx context.Context, id digest.ContentID) (io.ReadCloser, error) {
	r, err := t.Cache.Open(ctx, id)
	if errors.Is(err, cache.ErrNotFound) && t.fetchRoot(ctx, id) {
		return t.Cache.Open(ctx, id)
	}
	return r, err
}

// OpenAt implements cache.RandomStore, as Open.
func (t *Tier) OpenAt(ctx context.Context, id digest.ContentID) (cache.RandomReader, error) {
	r, err := t.Cache.OpenAt(ctx, id)
	if errors.Is(err, cache.ErrNotFound) && t.fetchRoot(ctx, id) {
		return t.Cache.OpenAt(ctx, id)
	}
	return r, err
}

// Has implements cache.Store, as Open.
func (t *Tier) Has(ctx context.Context, id digest.ContentID) (int64, error) {
	size, err := t.Cache.Has(ctx, id)
	if errors.Is(err, cache.ErrNotFound) && t.fetchRoot(ctx, id) {
		return t.Cache.Has(ctx, id)
	}
	return size, err
}

// Place implements cache.Placer, as Open.
func (t *Tier) Place(ctx context.Context, ref cache.Ref, path string, p cache.Placement) (cache.Placed, error) {
	how, err := t.Cache.Place(ctx, ref, path, p)
	if errors.Is(err, cache.ErrNotFound) && t.fetchRoot(ctx, ref.ID) {
		return t.Cache.Place(ctx, ref, path, p)
	}
	return how, err
}

// fetchRoot brings content here that a remote record names itself, and reports
// whether it did.
func (t *Tier) fetchRoot(ctx context.Context, id digest.ContentID) bool {
	t.mu.Lock()
	ref, ok := t.roots[id]
	t.mu.Unlock()
	return ok && t.fetch(ctx, ref) == nil
}

// Lookup implements cache.Index, without asking the network: a record of the
// local cache, or else one that the remote was known to hold when it was last
// asked.
func (t *Tier) Lookup(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	rec, err := t.Cache.Lookup(ctx, id)
	if !errors.Is(err, cache.ErrNotFound) {
		return rec, err
	}
	if other := t.known.lookup(id); other != nil {
		t.name(other)
		return other, nil
	}
	return nil, err
}

// Record implements cache.Index. The record and what it leads to are stored in
// the remote in the background.
func (t *Tier) Record(ctx context.Context, rec *cache.Record) error {
	if err := t.Cache.Record(ctx, rec); err != nil {
		return err
	}
	if !t.loc.ReadOnly {
		t.queue.add(copyRecord(rec))
	}
	return nil
}

// name remembers what a record of the remote names.
func (t *Tier) name(rec *cache.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ref := range refsOf(rec) {
		t.roots[ref.ID] = ref
	}
}

// Finish waits until everything that was recorded is in the remote, or ctx
// ends. It returns how many results are not there.
func (t *Tier) Finish(ctx context.Context) (left int) { return t.queue.wait(ctx) }

// Close stops what is under way. It does not close the local cache.
func (t *Tier) Close() error {
	t.queue.close()
	if err := t.bucket.close(); err != nil {
		return fmt.Errorf("close %s: %w", t.loc, maskedError{mask(err.Error())})
	}
	return nil
}

// warn tells the person of one kind of trouble, once.
func (t *Tier) warn(kind, format string, args ...any) {
	if _, told := t.warned.LoadOrStore(kind, true); !told && t.opts.Warn != nil {
		t.opts.Warn(fmt.Sprintf(format, args...))
	}
}

// trouble counts and tells what went wrong beside the work, which goes on.
func (t *Tier) trouble(ctx context.Context, doing string, err error) {
	if ctx.Err() != nil {
		return
	}
	t.stats.failed.Add(1)
	switch {
	case errors.Is(err, cache.ErrCorrupt):
		t.warn("corrupt", "remote cache %s: an object is not what its name says and is not used: %v", t.loc, err)
	case errors.Is(err, ErrCredentials):
		t.warn("denied "+doing, "remote cache %s: %s is not allowed, and not tried any more: %v", t.loc, doing, err)
	default:
		t.warn("trouble "+doing, "remote cache %s: %s failed: %v; the run goes on without (more of this is only counted)", t.loc, doing, err)
	}
}

// slot takes one of the places for transfers.
func (t *Tier) slot(ctx context.Context) (release func(), err error) {
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// alone makes work on one root wait for other work on it.
func (t *Tier) alone(ctx context.Context, id digest.ContentID) (release func(), err error) {
	for {
		t.mu.Lock()
		other, busy := t.busy[id]
		if !busy {
			mine := make(chan struct{})
			t.busy[id] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.busy, id)
				t.mu.Unlock()
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
