package remote

import (
	"context"
	"sync"

	"github.com/mleflow/mleflow/cache"
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
	// pending counts results that wait or are being stored, by pushers.
	pending, workers int
	// failed counts results that were given up.
	failed int
	// idle is closed when nothing is pending; it is nil while nobody waits for
	// that.
	idle chan struct{}
}

func newQueue(push func(context.Context, *cache.Record) error) *queue {
	q := &queue{push: push}
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
		if len(q.waiting) == 0 || q.ctx.Err() != nil {
			q.workers--
			q.mu.Unlock()
			return
		}
		rec := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.done(q.push(q.ctx, rec))
	}
}

// done counts a record that was stored or given up.
func (q *queue) done(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.failed++
	}
	if q.pending--; q.pending == 0 {
		close(q.idle)
		q.idle = nil
	}
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
