package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
)

// transfers is the number of objects that are transferred at a time.
const transfers = 8

// Options configure a Tier.
type Options struct {
	// Warn, if set, is called once for each kind of trouble with the remote.
	Warn func(text string)
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
	if opts.patience.attempts == 0 {
		opts.patience = defaultPatience
	}
	l := &link{
		local: local, loc: loc, opts: opts,
		slots: make(chan struct{}, transfers),
	}
	l.bucket = &bucket{loc: loc, patience: opts.patience, stats: &l.stats, sent: &l.moving.out}
	if loc.s3.google { // it misinterprets conditional writes
		l.bucket.refusals.Store(believed)
	}
	if loc.anyones() {
		l.warn("open", "remote cache %s: every user may write to it, and whoever may decides results; chmod o-w its folder, or give it to a group", loc)
	}
	find := &finder{link: l, known: &known{dir: filepath.Join(local.Dir(), "remote", loc.id()), readOnly: local.ReadOnly()}}
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
	t.bucket.close()
	return nil
}

// Reader is a Tier for commands that only read results. What the local cache
// does not have is looked up in the remote and fetched when it is read. Nothing
// is stored in the remote.
type Reader struct{ *Tier }

var (
	_ cache.Store  = Reader{}
	_ cache.Index  = Reader{}
	_ cache.Placer = Reader{}
)

// NewReader is New for a Reader.
func NewReader(local *disk.Cache, loc Location, opts Options) Reader {
	loc.ReadOnly = true
	return Reader{New(local, loc, opts)}
}

// Lookup implements cache.Index. It asks the remote for records that are not in
// the local cache.
func (r Reader) Lookup(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	rec, err := r.Tier.Lookup(ctx, id)
	if !errors.Is(err, cache.ErrNotFound) {
		return rec, err
	}
	if found := r.Find(ctx, []digest.ActionID{id}); found[0] != nil {
		return found[0], nil
	}
	return nil, err
}

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
		err := t.finder.present(ctx, ref)
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

// pushers is the number of results that are stored in the remote at a time. The
// objects of all of them share the Tier's transfers. Two suffice for one to be
// packed while the other is sent.
const pushers = 2

// queue stores results in the background.
type queue struct {
	push func(context.Context, *cache.Record) error
	ctx  context.Context // of the whole queue
	stop context.CancelFunc
	all  sync.WaitGroup

	mu      sync.Mutex
	waiting []*cache.Record
	// busy are the results that are being stored. A later result of an action waits for
	// the one before, which would replace it otherwise.
	busy map[digest.ActionID]*cache.Record
	// failed counts results that were given up.
	failed int
	// idle is closed when nothing is pending; it is nil while nobody waits for
	// that.
	idle chan struct{}
}

func newQueue(push func(context.Context, *cache.Record) error) *queue {
	q := &queue{push: push, busy: make(map[digest.ActionID]*cache.Record)}
	q.ctx, q.stop = context.WithCancel(context.Background())
	return q
}

func (q *queue) add(rec *cache.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() != nil {
		q.failed++
		return
	}
	if at := slices.IndexFunc(q.waiting, func(was *cache.Record) bool { return was.Action == rec.Action }); at >= 0 {
		q.waiting[at] = rec
		return
	}
	q.waiting = append(q.waiting, rec)
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	q.start()
}

// start begins to store the next result, if one may be. It needs mu.
func (q *queue) start() {
	at := slices.IndexFunc(q.waiting, func(rec *cache.Record) bool { return q.busy[rec.Action] == nil })
	if at < 0 || len(q.busy) == pushers || q.ctx.Err() != nil {
		return
	}
	rec := q.waiting[at]
	q.waiting = slices.Delete(q.waiting, at, at+1)
	q.busy[rec.Action] = rec
	q.all.Go(func() { q.done(rec, q.push(q.ctx, rec)) })
}

// done counts a record that was stored or given up, and starts the next.
func (q *queue) done(rec *cache.Record, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, rec.Action)
	if err != nil {
		q.failed++
	}
	if q.pending() == 0 {
		close(q.idle)
		q.idle = nil
	}
	q.start()
}

// pending is the number of results that wait or are being stored. It needs mu.
func (q *queue) pending() int { return len(q.waiting) + len(q.busy) }

// content returns the content of the results that wait or are being stored.
func (q *queue) content() (refs []cache.Ref) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, rec := range slices.Concat(q.waiting, slices.Collect(maps.Values(q.busy))) {
		refs = append(refs, refsOf(rec)...)
	}
	return refs
}

// wait returns how many results are not stored once nothing is pending or ctx
// ends.
func (q *queue) wait(ctx context.Context) int {
	q.mu.Lock()
	idle := q.idle
	q.mu.Unlock()
	if idle != nil {
		select {
		case <-idle:
		case <-ctx.Done():
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pending() + q.failed
}

func (q *queue) close() {
	q.stop()
	q.all.Wait()
}
