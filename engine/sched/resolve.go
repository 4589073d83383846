package sched

import (
	"context"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/crash"
)

// batchSize is the maximum number of consecutive Resolve calls. Passing single
// tasks would cost more than a cheap call.
const batchSize = 32

// resolver makes Resolve calls in the background.
type resolver struct {
	ctx   context.Context
	tasks []Task
	limit int
	// queue has the ranks of the tasks to resolve.
	queue   ranks
	in, out chan *batch
	workers int
	busy    int
	spare   []*batch
	wait    sync.WaitGroup
}

// batch holds tasks to resolve and, later, their results.
type batch struct {
	tasks []int
	found []Resolution
	errs  []error
}

func newResolver(ctx context.Context, tasks []Task, limit int) *resolver {
	return &resolver{ctx: ctx, tasks: tasks, limit: limit, queue: newRanks(), in: make(chan *batch, limit), out: make(chan *batch, limit)}
}

// feed passes queued tasks to idle workers.
func (r *resolver) feed(l *lives) {
	for r.queue.Len() > 0 && r.busy < r.limit {
		if r.busy == r.workers {
			r.workers++
			r.wait.Go(r.work)
		}
		b := r.batch()
		for range min(batchSize, 1+r.queue.Len()/(2*r.limit), r.queue.Len()) {
			i := l.task[r.queue.Pop()]
			l.phase[i] = resolving
			b.tasks = append(b.tasks, i)
		}
		r.busy++
		r.in <- b
	}
}

func (r *resolver) work() {
	for b := range r.in {
		for _, i := range b.tasks {
			found, err := resolve(r.ctx, &r.tasks[i])
			b.found, b.errs = append(b.found, found), append(b.errs, err)
		}
		r.out <- b
	}
}

func resolve(ctx context.Context, t *Task) (found Resolution, err error) {
	defer crash.Catch(&err)
	return t.Resolve(ctx)
}

func (r *resolver) batch() *batch {
	if len(r.spare) == 0 {
		return &batch{}
	}
	b := r.spare[len(r.spare)-1]
	r.spare = r.spare[:len(r.spare)-1]
	return b
}

// recycle takes back a batch whose results have been read.
func (r *resolver) recycle(b *batch) {
	clear(b.errs)
	b.tasks, b.found, b.errs = b.tasks[:0], b.found[:0], b.errs[:0]
	r.spare = append(r.spare, b)
	r.busy--
}

func (r *resolver) close() {
	close(r.in)
	r.wait.Wait()
}
