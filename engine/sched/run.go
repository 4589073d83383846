package sched

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/dag"
	"github.com/mleflow/mleflow/engine/internal/minheap"
)

// Run runs the tasks and returns when all have ended. It returns an error for
// tasks that cannot be run: one that comes after a later one, or one without Resolve for
// which the machine is too small (see Check). Failures of tasks are in the Summary.
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
	draining bool // only prompt tasks start
	changed  bool // a person cancelled tasks
	keys     keys
	retries  retries
	waits    waits
	resolver *resolver
	tries    chan finishedTry
	timer    *time.Timer
}

func newScheduler(ctx context.Context, tasks []Task, o Options) (*scheduler, error) {
	graph, err := dag.FromAfter(lists.Of(tasks, func(t Task) []int { return t.After }))
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
	return Check(tasks, o.Capacity)
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
		case c := <-s.o.Changes:
			s.change(c)
		case <-cancelled:
		}
	}
	if s.sum.count(Cancelled) > 0 {
		s.sum.Interrupted = context.Cause(s.ctx)
	}
	if s.changed && s.sum.Interrupted == nil {
		s.sum.Interrupted = ErrChanged
	}
}

// ready is called when all predecessors of a task have succeeded.
func (s *scheduler) ready(i int) {
	if s.tasks[i].Resolve == nil {
		s.admit(i, s.tasks[i].Key)
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
		case s.draining && !s.tasks[i].Prompt:
			s.drop(i, Result{})
		default:
			if err := s.o.Capacity.Check("", s.tasks[i].Needs); err != nil {
				s.fail(i, Result{Err: err})
			} else {
				s.admit(i, r.Key)
			}
		}
	}
	s.resolver.recycle(b)
}

// admit queues a task for its lease. If a task with the same key is ahead of
// it, admit parks it.
func (s *scheduler) admit(i int, key string) {
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

// phase is the current stage of a task's life.
type phase uint8

const (
	pending   phase = iota // waits for its predecessors
	queued                 // waits to be resolved
	resolving              // is being resolved
	waiting                // waits for a lease
	parked                 // waits for a task with the same key
	running                // has a lease
	backoff                // waits for a retry
	ended
)

// lives are the phases and priorities of all tasks.
type lives struct {
	phase   []phase
	missing []int // number of predecessors that have not succeeded yet
	rank    []int // position in order of priority
	task    []int // task with a rank
	open    int   // number of tasks that have not ended
}

// newLives ranks the tasks: prompt tasks first, then by the longest chain of
// work from each task on. Each task counts an additional nanosecond, so that
// the number of tasks decides if durations are unknown.
func newLives(tasks []Task, graph *dag.Graph) lives {
	n := len(tasks)
	l := lives{make([]phase, n), make([]int, n), make([]int, n), make([]int, n), n}
	for i := range n {
		l.task[i] = i
		l.missing[i] = len(graph.Pred(i))
	}
	chain := graph.Longest(func(i int) int64 { return int64(max(0, tasks[i].Weight)) + 1 })
	for i := range chain {
		if tasks[i].Prompt {
			chain[i] = math.MaxInt64
		}
	}
	slices.SortFunc(l.task, func(a, b int) int { return cmp.Or(cmp.Compare(chain[b], chain[a]), a-b) })
	for r, i := range l.task {
		l.rank[i] = r
	}
	return l
}

// pendingAfter returns the pending successors of i, direct or not, in ascending
// order. Successors of ended tasks have ended already.
func (l *lives) pendingAfter(i int, graph *dag.Graph) []int {
	var found []int
	stack := []int{i}
	seen := map[int]bool{}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, n := range graph.Succ(at) {
			if l.phase[n] == pending && !seen[n] {
				seen[n] = true
				found = append(found, n)
				stack = append(stack, n)
			}
		}
	}
	slices.Sort(found)
	return found
}

// keys are the keys of tasks that run or wait for a lease.
type keys struct {
	owned  map[int]string
	owners map[string][]int // the owner, then the parked tasks
}

// own makes i the owner of the key. If the key has an owner, it queues i behind
// it and returns false.
func (k *keys) own(i int, key string) bool {
	line := k.owners[key]
	k.owners[key] = append(line, i)
	if len(line) > 0 {
		return false
	}
	k.owned[i] = key
	return true
}

// disown ends the ownership of i and returns the tasks parked behind it.
func (k *keys) disown(i int) []int {
	key, ok := k.owned[i]
	if !ok {
		return nil
	}
	line := k.owners[key]
	delete(k.owned, i)
	delete(k.owners, key)
	return line[1:]
}
