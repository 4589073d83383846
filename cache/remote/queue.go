package remote

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

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
	// pending counts results that wait or are being stored, by pushers.
	pending, workers int
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
	q.pending++
	if q.workers < pushers {
		q.workers++
		q.all.Go(q.work)
	}
}

func (q *queue) work() {
	for {
		q.mu.Lock()
		at := slices.IndexFunc(q.waiting, func(rec *cache.Record) bool { return q.busy[rec.Action] == nil })
		if at < 0 || q.ctx.Err() != nil {
			q.workers--
			q.mu.Unlock()
			return
		}
		rec := q.waiting[at]
		q.waiting = slices.Delete(q.waiting, at, at+1)
		q.busy[rec.Action] = rec
		q.mu.Unlock()
		q.done(rec, q.push(q.ctx, rec))
	}
}

// done counts a record that was stored or given up.
func (q *queue) done(rec *cache.Record, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, rec.Action)
	if err != nil {
		q.failed++
	}
	if q.pending--; q.pending == 0 {
		close(q.idle)
		q.idle = nil
	}
}

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
	return q.pending + q.failed
}

func (q *queue) close() {
	q.stop()
	q.all.Wait()
}
