package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/work"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// yard is a backend with the jobs that this process follows.
type yard struct {
	*Backend
	place *engine.Place
	warn  func(string)
	// conviction is how long a job is left that can never start.
	conviction time.Duration
	// slots bounds the jobs at a time; nil does not.
	slots *semaphore.Weighted
	// later is held by the job that tries to be started where others are refused for now,
	// which full says once.
	later *semaphore.Weighted
	full  sync.Once

	watch  sync.Once
	ctx    context.Context // of the watch
	cancel context.CancelFunc
	done   chan struct{}
	// first is closed once the jobs are known as they were at the start.
	first chan struct{}

	mu    sync.Mutex
	known map[string]cluster.Status
	// news has the jobs that are followed; each channel gets a token when the
	// status has changed.
	news map[string]cluster.Wake
	// retired are the jobs to remove once they have ended, with what to do then;
	// removals are those that are being removed.
	retired  map[string]func(context.Context)
	removals sync.WaitGroup
	// broken is why there are no more statuses.
	broken error

	listing struct {
		sync.Mutex
		nodes []cluster.Node
		err   error
		at    time.Time
	}
}

func newYard(b *Backend, warn func(string)) *yard {
	y := &yard{
		Backend: b, warn: warn, conviction: conviction, later: semaphore.NewWeighted(1), done: make(chan struct{}), first: make(chan struct{}),
		known: map[string]cluster.Status{}, news: map[string]cluster.Wake{}, retired: map[string]func(context.Context){},
	}
	y.place = &engine.Place{Name: b.Name, Where: fmt.Sprintf("%s:%d", b.Range.Filename, b.Range.Start.Line), Trusted: b.Trusted, Preemptible: b.Preemptible, Settles: map[string]string{"runtime": b.Runtime}}
	if b.MaxJobs > 0 {
		y.slots = semaphore.NewWeighted(int64(b.MaxJobs))
	}
	y.ctx, y.cancel = context.WithCancel(context.Background())
	return y
}

// settle is how long the first statuses may take to come from a cluster that does
// not answer. A job that was there is then learnt of when it is started: that
// adopts it.
const settle = 10 * time.Second

// start begins to watch, and waits until jobs that were there are known.
func (y *yard) start(ctx context.Context) {
	y.watch.Do(func() { go y.run() })
	select {
	case <-y.first:
	case <-y.done:
	case <-time.After(settle):
	case <-ctx.Done():
	}
}

func (y *yard) run() {
	defer close(y.done)
	err := y.Watch(y.ctx, y.told, func() { close(y.first) })
	if y.ctx.Err() != nil {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.broken = err; err == nil {
		y.broken = fmt.Errorf("the backend %q tells nothing any more", y.Name)
	}
	for _, c := range y.news {
		c.Up()
	}
}

// told takes a status in.
func (y *yard) told(s cluster.Status) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if s.State == cluster.Gone && y.news[s.Job] == nil {
		delete(y.known, s.Job)
		return
	}
	y.known[s.Job] = s
	if s.State.Ended() {
		y.remove(s.Job)
	}
	if c := y.news[s.Job]; c != nil {
		c.Up()
	}
}

// retire removes a job as soon as it has ended, and then calls then. One that waits,
// such as for another start, is cancelled: its result is there.
func (y *yard) retire(job string, then func(context.Context)) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.retired[job] = then
	switch s := y.known[job].State; {
	case s.Ended():
		y.remove(job)
	case s == cluster.Pending:
		y.removals.Go(func() { y.end(job) })
	}
}

// end cancels jobs whose results are known.
func (y *yard) end(jobs ...string) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := y.Cancel(ctx, jobs...); err != nil {
		y.warn(fmt.Sprintf("backend %s: jobs that are not needed any more could not be cancelled; mleflow runs cleanup --on --cancel does: %v", y.Name, err))
	}
}

// remove removes a job that is retired. The lock is held.
func (y *yard) remove(job string) {
	then := y.retired[job]
	if then == nil {
		return
	}
	y.retired[job] = nil // being removed
	y.removals.Go(func() {
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		if err := y.Remove(ctx, job); err != nil {
			y.warn(fmt.Sprintf("backend %s: job %s could not be removed; mleflow runs cleanup --on does: %v", y.Name, job, err))
		}
		then(ctx)
		y.mu.Lock()
		defer y.mu.Unlock()
		delete(y.retired, job)
	})
}

// settled waits until a job of that name, if it is retired, is removed.
func (y *yard) settled(ctx context.Context, job string) error {
	return until(ctx, func() (bool, error) {
		y.mu.Lock()
		defer y.mu.Unlock()
		_, retired := y.retired[job]
		return !retired, nil
	})
}

// until asks now and then until something holds.
func until(ctx context.Context, holds func() (bool, error)) error {
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		if err := progress.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// over waits until a job has ended.
func (y *yard) over(ctx context.Context, job string) error {
	return until(ctx, func() (bool, error) {
		s, err := y.status(job)
		return s.State.Ended(), err
	})
}

// patience is how long Close waits for jobs to end whose results are known, first by
// themselves and then once they are cancelled.
const patience = 10 * time.Second

// drain removes what is retired.
func (y *yard) drain() {
	if left := y.left(); len(left) > 0 {
		y.end(left...)
		y.left()
	}
	y.removals.Wait()
}

// left waits with patience until the retired jobs have ended, and returns those that
// have not.
func (y *yard) left() (jobs []string) {
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		y.mu.Lock()
		jobs = slices.Collect(maps.Keys(y.retired))
		y.mu.Unlock()
		if len(jobs) == 0 || time.Now().After(end) {
			return jobs
		}
	}
}

// follow says when the status of a job changes, until stop is called.
func (y *yard) follow(job string) (news <-chan struct{}, stop func()) {
	c := cluster.NewWake()
	y.mu.Lock()
	defer y.mu.Unlock()
	y.news[job] = c
	return c, func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		delete(y.news, job)
	}
}

// status returns what is known of a job.
func (y *yard) status(job string) (cluster.Status, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.known[job], y.broken
}

// active are the jobs that are followed.
func (y *yard) active() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.Collect(maps.Keys(y.news))
}

// slot waits until one more job may run.
func (y *yard) slot(ctx context.Context, queued func()) (release func(), err error) {
	if y.slots == nil {
		return func() {}, nil
	}
	if !y.slots.TryAcquire(1) {
		queued()
		if y.slots.Acquire(ctx, 1) != nil {
			return nil, context.Cause(ctx)
		}
	}
	return func() { y.slots.Release(1) }, nil
}

// fresh is how long a list of nodes is good for.
const fresh = time.Minute

// nodes returns the nodes as they were less than a minute ago.
func (y *yard) nodes(ctx context.Context) ([]cluster.Node, error) {
	l := &y.listing
	l.Lock()
	defer l.Unlock()
	if !l.at.IsZero() && time.Since(l.at) < fresh {
		return l.nodes, l.err
	}
	limited, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	before := l.err
	if l.nodes, l.err = y.Nodes(limited); l.err != nil && before == nil && ctx.Err() == nil {
		y.warn(fmt.Sprintf("backend %s: its nodes cannot be listed, so what does not fit is not known: %v", y.Name, l.err))
	}
	l.at = time.Now()
	return l.nodes, l.err
}

func (y *yard) close() {
	y.drain()
	y.cancel()
	y.watch.Do(func() { close(y.done) })
	<-y.done
}

// phase is how far a job that is followed has come, by its statuses.
type phase string

const (
	// starting: no status has come.
	starting phase = "starting"
	// replacing: the job of this name that was there before has ended, and no status of this
	// one has come.
	replacing phase = "replacing"
	// waiting: for a node, or an image.
	waiting phase = "waiting"
	running phase = "running"
	// claimed: a worker runs, and the one before it has not given the step up.
	claimed phase = "claimed"
	// restarting: the last worker is lost, and another one is to come.
	restarting phase = "restarting"
	succeeded  phase = "succeeded"
	failed     phase = "failed"
)

// phases say what a phase means for the job's workers, whether there may be events or a
// result of them, and the state that people are told; "" is none.
var phases = map[phase]struct {
	crew  work.Crew
	polls bool
	shown string
}{
	starting:   {crew: work.Working},
	replacing:  {crew: work.Ended, polls: true},
	waiting:    {crew: work.Working, shown: event.JobPending},
	running:    {crew: work.Working, polls: true, shown: event.JobRunning},
	claimed:    {crew: work.Working, polls: true, shown: event.JobPending},
	restarting: {crew: work.Lost, polls: true, shown: event.JobPending},
	succeeded:  {crew: work.Ended, polls: true},
	failed:     {crew: work.Ended, polls: true, shown: event.JobEnded},
}

// ended reports whether no worker of this job runs or will run.
func (p phase) ended() bool { return p == succeeded || p == failed }

// stale is how long the status of a job that was replaced may still come.
const stale = 10 * time.Second

// next returns the phase that a status leads to.
func (w *watched) next(s cluster.Status) phase {
	switch {
	case w.isOurs(s):
	case s.State.Ended():
		return replacing
	default:
		return starting
	}
	switch hopeless := w.hopeless(s); s.State {
	case cluster.Succeeded:
		return succeeded
	case cluster.Failed, cluster.Gone:
		return failed
	case cluster.Pending:
		if hopeless {
			return failed
		}
	case cluster.Running:
		if w.silent != 0 && w.silent == w.task.Heard() {
			return claimed
		}
		return running
	}
	if s.State == cluster.Pending && s.Starts > 0 {
		return restarting
	}
	return waiting
}

// isOurs reports whether a status is of this job, and not of the one before it: once one was,
// a job under way, one with another ID, or any when the old status can no longer come.
func (w *watched) isOurs(s cluster.Status) bool {
	return w.phase != starting && w.phase != replacing ||
		s.State != "" && !s.State.Ended() ||
		s.ID != "" && s.ID != w.before ||
		time.Since(w.started) > stale
}
