package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// yard is a backend with the jobs that this process follows.
type yard struct {
	*Backend
	place *engine.Place
	warn  func(string)
	// slots bounds the jobs at a time; nil does not.
	slots chan struct{}

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

	listed  sync.Once
	listing []cluster.Node
	listErr error
}

func newYard(b *Backend, warn func(string)) *yard {
	y := &yard{Backend: b, warn: warn, done: make(chan struct{}), first: make(chan struct{}), known: map[string]cluster.Status{}, news: map[string]cluster.Wake{}, retired: map[string]func(context.Context){}}
	y.place = &engine.Place{Name: b.Name, Where: fmt.Sprintf("%s:%d", b.Range.Filename, b.Range.Start.Line), Trusted: b.Trusted, Preemptible: b.Preemptible, Settles: map[string]string{"runtime": b.Runtime}}
	if b.MaxJobs > 0 {
		y.slots = make(chan struct{}, b.MaxJobs)
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
	for {
		y.mu.Lock()
		_, retired := y.retired[job]
		y.mu.Unlock()
		if !retired {
			return nil
		}
		if err := progress.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// over waits until a job has ended.
func (y *yard) over(ctx context.Context, job string) error {
	for {
		s, err := y.status(job)
		if err != nil || s.State.Ended() {
			return err
		}
		if err := progress.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
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
	select {
	case y.slots <- struct{}{}:
		return func() { <-y.slots }, nil
	default:
		queued()
	}
	select {
	case y.slots <- struct{}{}:
		return func() { <-y.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// nodes asks for the nodes, once.
func (y *yard) nodes(ctx context.Context) ([]cluster.Node, error) {
	y.listed.Do(func() {
		ctx, stop := context.WithTimeout(ctx, 30*time.Second)
		defer stop()
		if y.listing, y.listErr = y.Nodes(ctx); y.listErr != nil {
			y.warn(fmt.Sprintf("backend %s: its nodes cannot be listed, so what does not fit is not known: %v", y.Name, y.listErr))
		}
	})
	return y.listing, y.listErr
}

func (y *yard) close() {
	y.drain()
	y.cancel()
	y.watch.Do(func() { close(y.done) })
	<-y.done
}
