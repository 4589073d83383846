package sched

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/engine/internal/minheap"
)

// timeoutError means that a try was stopped at its task's time limit.
type timeoutError struct {
	Limit time.Duration
	// Err is the error that Do returned then.
	Err error
}

// Error states the limit.
func (e *timeoutError) Error() string { return fmt.Sprintf("timed out after %v", e.Limit) }

// Unwrap returns the error of Do.
func (e *timeoutError) Unwrap() error { return e.Err }

// finishedTry is one finished call of Do.
type finishedTry struct {
	task           int
	taken          []int // devices
	err            error
	started, ended time.Time
}

// start leases the resources of the task with this rank and calls Do in the
// background. It returns false if a device is not available now.
func (s *scheduler) start(rank int) bool {
	i := s.life.task[rank]
	t := &s.tasks[i]
	taken, ok := s.pool.take(t.amounts())
	if !ok {
		return false
	}
	s.life.phase[i] = running
	s.hold(t, 1)
	l := Lease{Try: s.retries.tried[i].tries + 1, Resources: t.Needs, Devices: s.pool.names(taken)}
	if s.o.OnStart != nil {
		s.o.OnStart(i, l)
	}
	go func() {
		a := finishedTry{task: i, taken: taken, started: time.Now()}
		a.err = do(s.ctx, t, l)
		a.ended = time.Now()
		s.tries <- a
	}()
	return true
}

// hold counts a task that starts (1) or ends (-1).
func (s *scheduler) hold(t *Task, n int) {
	if t.Prompt {
		s.prompted += n
		return
	}
	s.running += n
	s.waits.hold(t.amounts(), n)
}

func do(ctx context.Context, t *Task, l Lease) (err error) {
	defer crash.Catch(&err)
	if t.Timeout <= 0 {
		return t.Do(ctx, l)
	}
	limit := &timeoutError{Limit: t.Timeout}
	ctx, clock, stop := startClock(ctx, limit)
	defer stop()
	l.clock = clock
	err = t.Do(ctx, l)
	if err != nil && context.Cause(ctx) == error(limit) {
		return &timeoutError{Limit: t.Timeout, Err: err}
	}
	return err
}

// afterTry handles the end of a try.
func (s *scheduler) afterTry(a finishedTry) {
	i := a.task
	s.hold(&s.tasks[i], -1)
	s.dirty = true
	s.pool.release(s.tasks[i].amounts(), a.taken)
	r := Result{Tries: s.retries.tried[i].tries + 1, Err: a.err, Started: a.started, Ended: a.ended}
	wait, again := s.again(i, r)
	switch {
	case a.err == nil:
		r.Status = Ran
		s.end(i, r)
	case s.ctx.Err() != nil, again && s.stopping:
		r.Status = Cancelled
		s.end(i, r)
	case errors.Is(a.err, s.o.Dropped), again && s.draining && !s.tasks[i].Prompt:
		s.drop(i, r)
	case again:
		s.retries.add(i, r, wait, errors.Is(a.err, s.o.Again))
		s.life.phase[i] = backoff
		s.arm()
		if s.o.OnRetry != nil {
			s.o.OnRetry(i, r.Tries, wait, a.err)
		}
	default:
		s.fail(i, r)
	}
}

// again reports whether to retry a task, and after which wait.
func (s *scheduler) again(i int, r Result) (time.Duration, bool) {
	retry := s.tasks[i].Retry
	if r.Err != nil && errors.Is(r.Err, s.o.Again) {
		return 0, true
	}
	if r.Err == nil || s.o.Retryable == nil || r.Tries-s.retries.tried[i].asked >= retry.Tries {
		return 0, false
	}
	atLeast, ok := s.o.Retryable(r.Err)
	return max(atLeast, retry.wait(r.Tries, s.o.Rand())), ok
}

// wait returns the back-off after this many tries, for a random number in
// [0,1).
func (r Retry) wait(tries int, random float64) time.Duration {
	base, limit := r.Base, r.Max
	if base <= 0 {
		base = time.Second
	}
	if limit <= 0 {
		limit = max(base, 5*time.Minute)
	}
	wait := base
	for n := 1; n < tries && wait < limit; n++ {
		wait *= 2
	}
	wait = min(wait, limit)
	return wait - time.Duration(random*float64(wait)/2)
}

// retries are the failed tasks that await a retry.
type retries struct {
	tried map[int]tried
	due   *minheap.Heap[due]
	// reported is the time at which a task was last added or OnBackoff last called.
	reported time.Time
}

// backoffEvery is the interval between calls of OnBackoff.
const backoffEvery = time.Minute

// tried is the result of a task's tries so far, of which some were ended to be repeated.
type tried struct {
	tries, asked int
	last         Result
}

type due struct {
	at   time.Time
	task int
}

// sooner orders by time, then by task.
func (d due) sooner(than due) bool {
	return d.at.Before(than.at) || d.at.Equal(than.at) && d.task < than.task
}

func (r *retries) add(i int, last Result, wait time.Duration, byHand bool) {
	asked := r.tried[i].asked
	if byHand {
		asked++
	}
	r.tried[i] = tried{tries: last.Tries, asked: asked, last: last}
	r.reported = time.Now()
	r.due.Push(due{r.reported.Add(wait), i})
}

// result returns the last try's result with a different status.
func (r *retries) result(i int, status Status) Result {
	last := r.tried[i].last
	last.Status = status
	return last
}

// arm sets the timer to the next due time.
func (s *scheduler) arm() {
	next := s.pool.retryAt
	sooner := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if due := s.retries.due; due.Len() > 0 {
		sooner(due.Least().at)
		sooner(s.retries.reported.Add(backoffEvery))
	}
	sooner(s.waits.due)
	if next.IsZero() {
		s.timer.Stop()
		return
	}
	s.timer.Reset(time.Until(next))
}

// wake processes everything that is due.
func (s *scheduler) wake() {
	now := time.Now()
	for s.retries.due.Len() > 0 && !s.retries.due.Least().at.After(now) {
		if i := s.retries.due.Pop().task; s.life.phase[i] == backoff {
			s.enqueue(i)
		}
	}
	if r := &s.retries; s.o.OnBackoff != nil && r.due.Len() > 0 && now.Sub(r.reported) >= backoffEvery {
		r.reported = now
		s.o.OnBackoff(r.due.Least().task, r.due.Least().at)
	}
	if !s.pool.retryAt.After(now) {
		s.pool.retryAt = time.Time{}
	}
	s.dirty = true
	s.arm()
}

// clock ends a try after its time limit, not counting the time in outside.
// A nil clock has no limit.
type clock struct {
	mu    sync.Mutex
	timer *time.Timer
	begun time.Time
	left  time.Duration
	// waiting counts the calls of outside in progress.
	waiting int
}

// startClock returns a context that ends with limit as its cause.
func startClock(ctx context.Context, limit *timeoutError) (context.Context, *clock, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{left: limit.Limit, begun: time.Now()}
	c.timer = time.AfterFunc(limit.Limit, func() { cancel(limit) })
	return ctx, c, func() {
		c.timer.Stop()
		cancel(context.Canceled)
	}
}

// outside runs do while the clock is stopped.
func (c *clock) outside(do func() error) error {
	if c == nil {
		return do()
	}
	c.pause()
	defer c.resume()
	return do()
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 && c.timer.Stop() {
		c.left -= time.Since(c.begun)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting--; c.waiting == 0 {
		c.begun = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// batchSize is the maximum number of consecutive Resolve calls. Passing single
// tasks would cost more than a cheap call.
const batchSize = 32

// resolver makes Resolve calls in the background.
type resolver struct {
	ctx   context.Context
	tasks []Task
	limit int
	// queue has the ranks of the tasks to resolve.
	queue ranks
	// in and out have room for all batches, so that none waits to be sent.
	in, out chan *batch
	// spare are the batches that no goroutine works on, of those made, one for each goroutine.
	spare []*batch
	made  int
	wait  sync.WaitGroup
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

// feed passes queued tasks to goroutines, as many as may be busy at once.
func (r *resolver) feed(l *lives) {
	for r.queue.Len() > 0 && (len(r.spare) > 0 || r.made < r.limit) {
		if len(r.spare) == 0 {
			r.spare = append(r.spare, &batch{})
			r.made++
			r.wait.Go(r.work)
		}
		b := r.spare[len(r.spare)-1]
		r.spare = r.spare[:len(r.spare)-1]
		for range min(batchSize, 1+r.queue.Len()/(2*r.limit), r.queue.Len()) {
			i := l.task[r.queue.Pop()]
			l.phase[i] = resolving
			b.tasks = append(b.tasks, i)
		}
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

// recycle takes back a batch whose results have been read.
func (r *resolver) recycle(b *batch) {
	clear(b.errs)
	b.tasks, b.found, b.errs = b.tasks[:0], b.found[:0], b.errs[:0]
	r.spare = append(r.spare, b)
}

func (r *resolver) close() {
	close(r.in)
	r.wait.Wait()
}

func resolve(ctx context.Context, t *Task) (found Resolution, err error) {
	defer crash.Catch(&err)
	return t.Resolve(ctx)
}
