package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
)

// link is the two caches and the connection between them, shared by all parts
// of a Tier.
type link struct {
	local  *disk.Cache
	loc    Location
	opts   Options
	bucket *bucket
	stats  counters
	moving moving
	slots  chan struct{}
	warned sync.Map

	// busy has a channel for each root that was transferred, full while it is.
	busy sync.Map
}

// warn reports each kind of trouble once.
func (t *link) warn(kind, format string, args ...any) {
	if _, told := t.warned.LoadOrStore(kind, true); !told && t.opts.Warn != nil {
		t.opts.Warn(fmt.Sprintf(format, args...))
	}
}

// trouble counts and reports a failure that does not stop the work.
func (t *link) trouble(ctx context.Context, doing string, err error) {
	if ctx.Err() != nil {
		return
	}
	t.stats.failed.Add(1)
	switch {
	case errors.Is(err, cache.ErrCorrupt):
		t.warn("corrupt", "remote cache %s: the content of an object does not match its name, so it is not used: %v", t.loc, err)
	case errors.Is(err, errCredentials):
		t.warn("denied "+doing, "remote cache %s: %s is not allowed and will not be retried: %v", t.loc, doing, err)
	default:
		t.warn("trouble "+doing, "remote cache %s: %s failed: %v; the run continues without it (later failures are only counted)", t.loc, doing, err)
	}
}

// slot takes one of the slots for transfers.
func (t *link) slot(ctx context.Context) (release func(), err error) { return take(ctx, t.slots) }

// alone makes work on a root wait for other work on the same root.
func (t *link) alone(ctx context.Context, id digest.ContentID) (release func(), err error) {
	turn, _ := t.busy.LoadOrStore(id, make(chan struct{}, 1))
	return take(ctx, turn.(chan struct{}))
}

// take puts one element into a channel, as soon as there is space, and returns the
// function that takes it out again.
func take(ctx context.Context, slots chan struct{}) (release func(), err error) {
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// walk makes sure that all of a tree is in the local cache. missing is called for
// every absent object; it must fetch a directory before it returns. Without
// missing, the first absent object is cache.ErrNotFound.
func (t *link) walk(ctx context.Context, root cache.Ref, missing func(cache.Ref) error) error {
	seen := make(map[digest.ContentID]bool) // the directories that were walked
	var object func(ref cache.Ref) error
	object = func(ref cache.Ref) error {
		if ref.Kind == cache.Tree && seen[ref.ID] {
			return nil
		}
		size, err := t.local.Has(ctx, ref.ID)
		if errors.Is(err, cache.ErrNotFound) && missing != nil {
			if err := missing(ref); err != nil || ref.Kind != cache.Tree {
				return err
			}
			err = nil
		}
		switch {
		case err != nil:
			return err
		case ref.Kind == cache.Tree:
			seen[ref.ID] = true
			return tree.Each(ctx, t.local, ref, func(e tree.Entry) error { return object(e.Ref()) })
		case size != ref.Size:
			return fmt.Errorf("object %s: %w: it has %d bytes, not %d", ref.ID.Short(), cache.ErrCorrupt, size, ref.Size)
		}
		return nil
	}
	return object(root)
}

// known is a folder next to the local cache. It has the records that were found in
// the remote, so that plan needs no network access for them. Everything in it can
// be requested again, so its errors are ignored.
type known struct {
	dir      string
	readOnly bool
}

func (k *known) path(id digest.ActionID) string {
	return filepath.Join(k.dir, filepath.FromSlash(actionKey(id)))
}

// lookup returns a record, or nil.
func (k *known) lookup(id digest.ActionID) *cache.Record {
	data, err := nolink.ReadFile(k.path(id))
	if err != nil {
		return nil
	}
	rec, err := decodeRecord(id, data)
	if err != nil {
		return nil
	}
	return rec
}

// add remembers a record as the bytes of its object.
func (k *known) add(id digest.ActionID, data []byte) {
	if k.readOnly {
		return
	}
	path := k.path(id)
	err := nolink.WriteFile(path, data, 0o644, false)
	if errors.Is(err, fs.ErrNotExist) && nolink.MkdirAll(filepath.Dir(path), 0o777) == nil {
		_ = nolink.WriteFile(path, data, 0o644, false)
	}
}

// forget removes a record.
func (k *known) forget(id digest.ActionID) {
	if !k.readOnly {
		_ = os.Remove(k.path(id))
	}
}

// Stats count the work of a Tier.
type Stats struct {
	// Requests counts the requests to the store, and Retries how many of them were
	// repeated.
	Requests int64 `json:"requests"`
	Retries  int64 `json:"retries"`
	// BytesIn and BytesOut are the bytes that were transferred.
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	// Hits counts the records that were found, Misses those that were not.
	Hits   int64 `json:"hits"`
	Misses int64 `json:"misses"`
	// Fetched and Pushed count results copied from and to the remote.
	Fetched int64 `json:"fetched"`
	Pushed  int64 `json:"pushed"`
	// Corrupt counts objects that did not match their name, Failed operations that
	// were given up.
	Corrupt int64 `json:"corrupt"`
	Failed  int64 `json:"failed"`
}

// counters are Stats that are still counting.
type counters struct {
	requests, retries, bytesIn, bytesOut           atomic.Int64
	hits, misses, fetched, pushed, corrupt, failed atomic.Int64
}

func (c *counters) stats() Stats {
	return Stats{
		Requests: c.requests.Load(), Retries: c.retries.Load(), BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(),
		Hits: c.hits.Load(), Misses: c.misses.Load(), Fetched: c.fetched.Load(), Pushed: c.pushed.Load(),
		Corrupt: c.corrupt.Load(), Failed: c.failed.Load(),
	}
}

// Moved is the amount of content that a Tier has fetched and stored so far.
type Moved struct {
	// Fetched and Stored are the bytes of requested content that have arrived or are
	// being transferred. Content that was already in place counts too, and content that
	// is requested again counts again.
	Fetched, Stored int64
	// Recorded is the size of the recorded content, which is stored in the background.
	Recorded int64
	// In and Out are the bytes that went over the connection, including those of failed
	// attempts.
	In, Out int64
}

// moving holds the counters behind Moved.
type moving struct{ fetched, stored, recorded, out atomic.Int64 }

// Moved returns the content that was moved so far.
func (t *Tier) Moved() Moved {
	m := &t.moving
	return Moved{m.fetched.Load(), m.stored.Load(), m.recorded.Load(), t.stats.bytesIn.Load(), m.out.Load()}
}

// portion is a piece of content in transfer. Its bytes are counted up to its size,
// even if more are sent, and its full size is counted at the end.
type portion struct {
	left atomic.Int64
	sums [2]*atomic.Int64 // of the Tier, and of who asked, or nil
}

type (
	portionKey struct{}
	countKey   struct{}
)

// WithCount returns a context in which sum counts the bytes of content that are
// fetched or stored, as Moved does for all.
func WithCount(ctx context.Context, sum *atomic.Int64) context.Context {
	return context.WithValue(ctx, countKey{}, sum)
}

func newPortion(ctx context.Context, size int64, sum *atomic.Int64) *portion {
	asked, _ := ctx.Value(countKey{}).(*atomic.Int64)
	p := &portion{sums: [2]*atomic.Int64{sum, asked}}
	p.left.Store(size)
	return p
}

// withPortion returns a context whose transfers are counted as parts of ref, and
// the function that counts the rest, unless there was an error.
func withPortion(ctx context.Context, ref cache.Ref, sum *atomic.Int64) (context.Context, func(error)) {
	p := newPortion(ctx, ref.Size, sum)
	return context.WithValue(ctx, portionKey{}, p), func(err error) {
		if err == nil {
			p.moved(max(p.left.Load(), 0))
		}
	}
}

// there counts content that is already in place.
func there(ctx context.Context, size int64, sum *atomic.Int64) {
	newPortion(ctx, size, sum).moved(size)
}

// portionOf returns the portion that a transfer is a part of, or nil.
func portionOf(ctx context.Context) *portion {
	p, _ := ctx.Value(portionKey{}).(*portion)
	return p
}

// moved counts n more bytes.
func (p *portion) moved(n int64) {
	if p == nil {
		return
	}
	left := p.left.Add(-n) + n
	if n = min(n, left); n <= 0 {
		return
	}
	for _, sum := range p.sums {
		if sum != nil {
			sum.Add(n)
		}
	}
}

// Size returns the bytes of content that a record leads to.
func Size(rec *cache.Record) int64 {
	return lists.Sum(refsOf(rec), func(ref cache.Ref) int64 { return ref.Size })
}
