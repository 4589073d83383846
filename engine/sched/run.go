package sched

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/mleflow/mleflow/engine/dag"
	"github.com/mleflow/mleflow/engine/internal/minheap"
)

// Run runs the tasks and returns when all have ended. It returns an error for
// tasks that cannot be run: a cycle, or a task without Resolve for which the
// machine is too small (see Check). Failures of tasks are in the Summary.
func Run(ctx context.Context, tasks []Task, o Options) (*Summary, error) {
	s, err := newScheduler(ctx, tasks, o)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	s.run()
	s.sum.Wall = time.Since(start)
	return s.sum, nil
}

// scheduler is the state of a run. Only the goroutine of run accesses it.
type scheduler struct {
	ctx   context.Context
	tasks []Task
	o     Options
	graph *dag.Graph
	sum   *Summary

	life     lives
	pool     *pool
	queue    *queue
	prompt   *queue // prompt tasks
	dirty    bool   // a task was queued or a resource became free
	running  int    // running tasks that are not prompt
	prompted int    // running prompt tasks
	stopping bool
	keys     keys
	retries  retries
	waits    waits
	resolver *resolver
	tries    chan finishedTry
	timer    *time.Timer
}

func newScheduler(ctx context.Context, tasks []Task, o Options) (*scheduler, error) {
	graph, err := order(tasks)
	if err == nil {
		err = checkOptions(tasks, &o)
	}
	if err != nil {
		return nil, fmt.Errorf("schedule tasks: %w", err)
	}
	return &scheduler{
		ctx: ctx, tasks: tasks, o: o, graph: graph,
		sum:      &Summary{Results: make([]Result, len(tasks))},
		life:     newLives(tasks, graph),
		pool:     newPool(o.Capacity, o.Locks),
		queue:    newQueue(),
		prompt:   newQueue(),
		keys:     keys{owned: map[int]string{}, owners: map[string][]int{}},
		retries:  retries{tried: map[int]tried{}, due: minheap.New(due.sooner)},
		waits:    waits{holders: map[Resource]int{}},
		resolver: newResolver(ctx, tasks, o.Resolvers),
		tries:    make(chan finishedTry, 64),
		timer:    time.NewTimer(math.MaxInt64),
	}, nil
}

// order returns the dependency graph of the tasks.
func order(tasks []Task) (*dag.Graph, error) {
	after := make([][]int, len(tasks))
	for i := range tasks {
		after[i] = tasks[i].After
		for _, j := range after[i] {
			if j < 0 || j >= len(tasks) {
				return nil, fmt.Errorf("%s depends on task %d, but there are only %d tasks", tasks[i].Name, j, len(tasks))
			}
		}
	}
	graph, err := dag.FromAfter(after)
	var cycle *dag.CycleError[int]
	if !errors.As(err, &cycle) {
		return graph, err
	}
	names := &dag.CycleError[string]{}
	for _, i := range cycle.Path {
		names.Path = append(names.Path, tasks[i].Name)
	}
	return nil, names
}

func checkOptions(tasks []Task, o *Options) error {
	if o.Parallelism <= 0 {
		o.Parallelism = math.MaxInt
	}
	if o.Resolvers <= 0 {
		o.Resolvers = runtime.GOMAXPROCS(0)
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.Locks != nil {
		if name := o.Locks.missing(o.Capacity.Devices); name != "" {
			return fmt.Errorf("device %s has no lock", name)
		}
	}
	var errs []error
	for i := range tasks {
		if tasks[i].Resolve == nil {
			errs = append(errs, o.Capacity.Check(tasks[i].Name, tasks[i].Needs))
		}
	}
	return errors.Join(errs...)
}

// run is the main loop. It handles events until every task has ended.
func (s *scheduler) run() {
	defer s.resolver.close()
	defer s.timer.Stop()
	for i := range s.tasks {
		if err := s.tasks[i].Refused; err != nil && s.life.phase[i] == pending {
			s.fall(i, Result{Err: err})
		}
	}
	for i := range s.tasks {
		if s.life.missing[i] == 0 && s.life.phase[i] == pending {
			s.ready(i)
		}
	}
	cancelled := s.ctx.Done()
	for s.life.open > 0 {
		if cancelled != nil && s.ctx.Err() != nil {
			cancelled = nil
			s.stop()
			continue
		}
		s.dispatch()
		s.resolver.feed(&s.life)
		select {
		case b := <-s.resolver.out:
			s.resolved(b)
		case a := <-s.tries:
			s.afterTry(a)
		case <-s.timer.C:
			s.wake()
		case <-cancelled:
		}
	}
	if s.sum.Cancelled > 0 {
		s.sum.Interrupted = context.Cause(s.ctx)
	}
}

// ready is called when all predecessors of a task have succeeded.
func (s *scheduler) ready(i int) {
	if s.tasks[i].Resolve == nil {
		if key := s.tasks[i].Key; key != "" && !s.keys.own(i, key) {
			s.life.phase[i] = parked
			return
		}
		s.enqueue(i)
		return
	}
	s.life.phase[i] = queued
	s.resolver.queue.Push(s.life.rank[i])
}

// resolved handles the results of a batch of Resolve calls.
func (s *scheduler) resolved(b *batch) {
	for k, i := range b.tasks {
		r, err := b.found[k], b.errs[k]
		switch {
		case err != nil && s.ctx.Err() != nil:
			s.end(i, Result{Status: Cancelled, Err: err})
		case err != nil:
			s.fail(i, Result{Err: err})
		case r.Done:
			s.end(i, Result{Status: Done})
		case s.stopping:
			s.end(i, Result{Status: Cancelled})
		default:
			s.mustRun(i, r.Key)
		}
	}
	s.resolver.recycle(b)
}

// mustRun queues a task for its lease. If a task with the same key is ahead of
// it, mustRun parks it.
func (s *scheduler) mustRun(i int, key string) {
	if err := s.o.Capacity.Check("", s.tasks[i].Needs); err != nil {
		s.fail(i, Result{Err: err})
		return
	}
	if key != "" && !s.keys.own(i, key) {
		s.life.phase[i] = parked
		return
	}
	s.enqueue(i)
}

func (s *scheduler) enqueue(i int) {
	s.life.phase[i] = waiting
	queue := s.queue
	if s.tasks[i].Prompt {
		queue = s.prompt
	}
	queue.push(s.life.rank[i], s.tasks[i].amounts())
	s.dirty = true
}

// end records the end of a task and unblocks others.
func (s *scheduler) end(i int, r Result) {
	s.life.phase[i] = ended
	s.life.open--
	s.sum.Results[i] = r
	s.sum.count(r.Status)
	if s.o.OnEnd != nil {
		s.o.OnEnd(i, r)
	}
	for _, j := range s.keys.disown(i) {
		if s.life.phase[j] == parked && !s.stopping {
			s.ready(j)
		}
	}
	if r.Status != Done && r.Status != Ran {
		return
	}
	for _, n := range s.graph.Succ(i) {
		if s.life.missing[n]--; s.life.missing[n] == 0 && s.life.phase[n] == pending {
			s.ready(n)
		}
	}
}

// fail ends a task that failed permanently.
func (s *scheduler) fail(i int, r Result) {
	s.fall(i, r)
	if !s.o.KeepGoing {
		s.stop()
	}
}

// fall ends a task as failed and all its successors as skipped.
func (s *scheduler) fall(i int, r Result) {
	r.Status = Failed
	s.end(i, r)
	for _, n := range s.life.pendingAfter(i, s.graph) {
		s.end(n, Result{Status: Skipped, Cause: i})
	}
}

// stop ends all tasks that are not running.
func (s *scheduler) stop() {
	if s.stopping {
		return
	}
	s.stopping = true
	s.queue, s.prompt, s.dirty = newQueue(), newQueue(), true
	s.resolver.queue = newRanks()
	for i, p := range s.life.phase {
		switch p {
		case pending, queued, waiting, parked, backoff:
			s.end(i, s.retries.result(i, Cancelled))
		}
	}
	s.retries.due = minheap.New(due.sooner)
}

// dispatch starts all tasks that can start.
func (s *scheduler) dispatch() {
	if s.dirty {
		free := s.prompt.dispatch(s.pool.free, s.o.Parallelism-s.prompted, s.start)
		s.queue.dispatch(free, s.o.Parallelism-s.running, s.start)
		s.reportWaits()
		s.arm()
	}
	s.dirty = false
}
