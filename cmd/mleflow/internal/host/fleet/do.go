package fleet

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/engine/work"
	"github.com/mleflow/mleflow/plugins/cluster"
)

const (
	// firstPoll and lastPoll are how often events are asked for: first often, for
	// whoever watches, then less, for the bill.
	firstPoll = 500 * time.Millisecond
	lastPoll  = 10 * time.Second
	// largestFetched is the size of a result that is fetched to this machine. A
	// larger one stays in the remote cache until something here reads it.
	largestFetched = 4 << 30
	// resubmit is the time after which a cluster is asked again that took no job.
	resubmit = 5 * time.Second
)

// Do implements engine.Elsewhere.
func (f *Fleet) Do(ctx context.Context, j engine.Job) (engine.Outcome, error) {
	y := f.byName[j.Place]
	w := &watched{f: f, y: y, j: j, phase: starting, name: cluster.JobName(j.Action.String()), steered: steered{open: map[string]step.Asked{}, acts: map[step.Act]bool{}}}
	begin, end := context.WithCancelCause(ctx)
	defer end(nil)
	begun := w.early(end)
	defer begun()
	release, err := y.slot(begin, func() {
		w.emit(event.StepJob{State: event.JobQueued, Reason: "MaxJobs", Message: fmt.Sprintf("%d jobs run, as many as max_jobs allows", y.MaxJobs)})
	})
	if err != nil {
		begun()
		return w.out, w.settle(ctx, nil, err)
	}
	defer release()
	y.start(begin)
	news, stop := y.follow(w.name)
	defer stop()
	r, err := w.do(ctx, begin, begun, news)
	begun()
	err = w.settle(ctx, r, err)
	if r == nil {
		return w.out, err
	}
	defer w.clear()
	w.out.FetchedBytes, w.out.StoredBytes, w.out.Found = r.FetchedBytes, r.StoredBytes, r.Found && !w.ran
	if r.Node != "" {
		w.out.Node = r.Node
		w.showRan()
	}
	if err != nil {
		return w.out, err
	}
	if r.Record == nil {
		return w.out, fmt.Errorf("the worker of %s left neither a result nor an error", w.name)
	}
	if err := f.opts.Cache.Take(ctx, r.Record, largestFetched); err != nil {
		return w.out, step.Retryable(err, 0)
	}
	w.out.Record = r.Record
	return w.out, nil
}

// watched is a job that is followed.
type watched struct {
	f    *Fleet
	y    *yard
	j    engine.Job
	name string
	task *work.Task
	out  engine.Outcome
	// ran says that the events of a worker were seen.
	ran bool
	// phase follows from the statuses. before is the job of the name that was there
	// before, if any, and started when this one was: until the first status of this one,
	// they may be of the one before.
	phase   phase
	before  string
	started time.Time
	adopted bool
	// node is that of the last worker, silent its number once it is lost, and heard the
	// time of the first event of a worker that was not seen running.
	node   string
	silent int
	heard  time.Time
	told   event.StepJob
	// never is since when the cluster says that the job can never start.
	never time.Time
	steered
}

// do places the order, starts the job until begin ends, calls begun, and returns what came of
// it.
func (w *watched) do(ctx, begin context.Context, begun func(), news <-chan struct{}) (*work.Result, error) {
	if err := w.y.settled(begin, w.name); err != nil {
		return nil, err
	}
	before, err := w.y.status(w.name)
	if err != nil {
		return nil, err
	}
	w.before = before.ID
	live := before.State == cluster.Pending || before.State == cluster.Running
	if live { // its worker may have to be asked
		begun()
	}
	if err := w.place(begin, live); err != nil {
		return nil, w.interrupted(begin, err)
	}
	if live && !w.adopted { // its worker is about to end, and answers another order
		if err := w.y.over(begin, w.name); err != nil {
			return nil, w.interrupted(begin, err)
		}
	}
	if err := w.submit(begin); err != nil {
		return nil, w.interrupted(begin, fmt.Errorf("backend %s: start job: %w; mleflow doctor --on says what the cluster refuses", w.y.Name, err))
	}
	w.started = time.Now()
	if begun(); begin.Err() != nil {
		return nil, w.interrupted(begin, context.Cause(begin))
	}
	asked := w.later
	w.later = nil
	for _, asked := range asked {
		if w.obey(ctx, asked) {
			return nil, w.withdraw(ctx)
		}
	}
	return w.follow(ctx, news)
}

// place stores what the worker reads, and the order.
func (w *watched) place(ctx context.Context, live bool) error {
	if w.f.pushes.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	defer w.f.pushes.Release(1)
	j := &w.j
	o, err := work.NewOrder(j.Kind, j.Args, j.Action, j.Fields)
	if err != nil {
		return err
	}
	if w.f.opts.Key != nil && j.Requests != nil {
		o.Steer = w.f.opts.Key.Public().(ed25519.PublicKey)
	}
	o.Version, o.Address, o.Run, o.Try, o.Fresh, o.Tries, o.Folders = w.f.opts.Version, j.Address, j.RunID, j.Try, j.Fresh, j.Tries, w.f.opts.Folders
	if w.task, w.adopted, err = work.Place(ctx, w.f.opts.Cache, work.Placement{Order: o, Refs: j.Args.Refs(), Live: live, Emit: j.Sink.Emit}); err != nil {
		return step.Retryable(fmt.Errorf("place the order of %s: %w", j.Address, err), 0)
	}
	return nil
}

func (w *watched) job() cluster.Job {
	job := w.y.ask(w.j.Args.Limits)
	if job.Deadline > 0 {
		job.Deadline += w.more
	}
	job.Name, job.Action, job.Address = w.name, w.j.Action.String(), w.j.Address
	job.Args = []string{"worker", job.Action, w.task.Order().String()}
	job.Env = map[string]string{"MLEFLOW_REMOTE_CACHE": w.f.opts.Address}
	for _, ref := range w.j.Args.Refs() { // steps that read the same should meet on few nodes
		if job.Near == "" || ref.Size > job.NearBytes {
			job.Near, job.NearBytes = ref.ID.String(), ref.Size
		}
	}
	return job
}

// submit starts the job, and waits while the cluster does not take it. Of the jobs that wait,
// one tries again now and then.
func (w *watched) submit(ctx context.Context) error {
	job := w.job()
	err := w.y.Start(ctx, job)
	if !errors.Is(err, cluster.ErrLater) {
		return err
	}
	w.emit(event.StepJob{State: event.JobQueued, Reason: "Later", Message: err.Error()})
	w.y.full.Do(func() {
		w.f.opts.Warn(fmt.Sprintf("backend %s takes no more jobs for now: %v; those that are left wait until it does", w.y.Name, err))
	})
	if w.y.later.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	defer w.y.later.Release(1)
	for {
		if err = w.y.Start(ctx, job); !errors.Is(err, cluster.ErrLater) {
			return err
		}
		if err := progress.Sleep(ctx, resubmit); err != nil {
			return err
		}
	}
}

// follow passes events on until there is a result, or until the machines have
// given up.
func (w *watched) follow(ctx context.Context, news <-chan struct{}) (*work.Result, error) {
	wait := firstPoll
	timer := time.NewTimer(wait)
	defer timer.Stop()
	gone := 0
	for {
		s, err := w.y.status(w.name)
		if err != nil {
			return nil, fmt.Errorf("backend %s: %w", w.y.Name, err)
		}
		w.phase = w.next(s)
		w.show(s)
		if phases[w.phase].polls || w.adopted {
			if w.phase == restarting && w.silent == 0 {
				w.silent = w.task.Heard() // before the next worker is heard
			}
			r, err := w.poll(ctx, phases[w.phase].crew)
			if r == nil && w.phase == restarting {
				err = errors.Join(err, w.giveUp(ctx, s))
			}
			if err != nil && ctx.Err() == nil {
				w.f.opts.Warn(fmt.Sprintf("%s: %v; asking again", w.j.Address, err))
			}
			if r != nil {
				return r, nil
			}
			if w.phase.ended() && err == nil {
				if gone++; gone >= 3 || s.State == cluster.Failed {
					w.clear()
					return nil, w.lost(s)
				}
			}
		}
		timer.Reset(w.pause(wait))
		select {
		case <-ctx.Done():
			return nil, w.interrupted(ctx, context.Cause(ctx))
		case asked := <-w.j.Requests:
			if w.obey(ctx, asked) {
				return nil, w.withdraw(ctx)
			}
		case <-news:
			wait = firstPoll
		case <-timer.C:
			wait = min(lastPoll, wait*5/4)
		}
	}
}

// conviction is how long a cluster has to say that a job can never start, before it is
// cancelled.
const conviction = 20 * time.Second

// hopeless reports whether the cluster has said for long enough that this job can never start.
func (w *watched) hopeless(s cluster.Status) bool {
	if s.State != cluster.Pending || !s.Final {
		w.never = time.Time{}
		return false
	}
	if w.never.IsZero() {
		w.never = time.Now()
	}
	return time.Since(w.never) >= w.y.conviction
}

// giveUp gives up the claim of a lost worker that was seen to end.
func (w *watched) giveUp(ctx context.Context, s cluster.Status) error {
	if !s.Dead || w.node == "" {
		return nil
	}
	err := w.task.GiveUp(ctx, w.node)
	if err == nil {
		w.node = "" // once for each worker
	}
	return err
}

// poll asks for events and the result.
func (w *watched) poll(ctx context.Context, crew work.Crew) (*work.Result, error) {
	if w.f.polls.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	defer w.f.polls.Release(1)
	return w.task.Poll(ctx, crew, w.pass)
}

// pass passes an event of the worker on.
func (w *watched) pass(e event.Event) {
	if !w.ran {
		w.ran, w.heard = true, e.When()
	}
	switch e := e.(type) {
	case event.StepLog:
		fmt.Fprintln(w.j.Log, e.Line)
	case event.Steered:
		w.answered(e)
	case event.StepProgress, event.StepPhase, event.StepWaiting, event.Warning:
		w.j.Sink.Emit(event.Readdressed(e, func(string) string { return w.j.Address }))
	}
}

// lost is the failure of the machines that ended a job, or on which it can never start. It is
// worth a retry unless the job was refused or somebody ended it.
func (w *watched) lost(s cluster.Status) error {
	text := "it ended without a result"
	switch {
	case s.Message != "":
		text = s.Message
	case s.State == cluster.Gone:
		text, s.Final = "it was removed from outside; the next apply starts it again", true
	}
	if s.Reason != "" {
		text = s.Reason + ": " + text
	}
	if s.Starts > 1 {
		text = fmt.Sprintf("after %d starts: %s", s.Starts, text)
	}
	err := fmt.Errorf("backend %s: job %s: %s", w.y.Name, w.name, text)
	if s.Final && s.State != cluster.Pending {
		return err
	}
	if err = fmt.Errorf("%w: %w", errMachines, err); s.Final {
		return err
	}
	return step.Retryable(err, 0)
}

// show tells how the job is doing, if that has changed.
func (w *watched) show(s cluster.Status) {
	e := event.StepJob{State: phases[w.phase].shown, Node: s.Node, Starts: s.Starts, Reason: s.Reason, Message: s.Message}
	switch w.phase {
	case running:
		w.silent = 0
		w.meet(s.Node)
	case claimed:
		w.meet(s.Node)
		e.Reason, e.Message = "Claimed", "the worker before it has not given the step up; it is taken over after a minute and a half of silence"
	}
	if e.State != "" {
		w.emit(e)
	}
}

// meet notes the node of a worker that runs.
func (w *watched) meet(node string) { w.out.Node, w.node, w.heard = node, node, time.Time{} }

// showRan tells that a worker ran which was too fast to be seen running, from its first
// event on.
func (w *watched) showRan() {
	if w.told.State == event.JobRunning || !w.ran {
		return
	}
	e := event.StepJob{State: event.JobRunning, Node: w.out.Node, Starts: max(1, w.told.Starts)}
	if e.Time = w.heard; e.Time.Before(w.started) || e.Time.After(time.Now()) {
		e.Time = time.Now().UTC()
	}
	w.emit(e)
}

func (w *watched) emit(e event.StepJob) {
	at := e.At
	e.At = event.At{}
	e.Address, e.On, e.Job, e.GPUs, e.Adopted = w.j.Address, w.y.Name, w.name, w.j.Args.Limits.GPUs, w.adopted
	if e == w.told {
		return
	}
	w.told = e
	if e.At = at; e.Time.IsZero() {
		e.Time = time.Now().UTC()
	}
	w.j.Sink.Emit(e)
}

// interrupted decides what becomes of the job when the run is interrupted.
func (w *watched) interrupted(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), step.ErrCancelled) {
		return w.withdraw(ctx)
	}
	if ctx.Err() == nil || w.task == nil {
		return err
	}
	if !w.f.interrupted() {
		w.emit(event.StepJob{State: event.JobLeft, Node: w.out.Node})
		return err
	}
	// Wait until the worker has ended, so that nothing of it is left behind.
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), w.y.Grace+30*time.Second)
	defer stop()
	if w.y.over(late, w.name) != nil && late.Err() != nil {
		return errors.Join(err, fmt.Errorf("backend %s: job %s has not ended yet", w.y.Name, w.name))
	}
	w.clear()
	return err
}

// clear removes what the job leaves, in the backend and in the remote cache, as
// soon as it has ended.
func (w *watched) clear() {
	desk, id, address, warn := w.f.opts.Cache.Desk(), w.j.Action, w.j.Address, w.f.opts.Warn
	w.y.retire(w.name, func(ctx context.Context) {
		if err := work.Clear(ctx, desk, id); err != nil {
			warn(fmt.Sprintf("%s: what its job left in the remote cache could not be removed; mleflow runs cleanup --on does: %v", address, err))
		}
	})
}
