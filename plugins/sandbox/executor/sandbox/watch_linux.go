package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// watch waits for the command's end, enforces its time limit, and returns its use of
// resources.
func (r *run) watch(ctx context.Context) (executor.Exit, error) {
	services := r.spec.Services
	if r.ended != nil {
		services = nil // only the removal was left
	}
	ctx, serving, err := executor.Serve(ctx, services, func(i int) (net.Listener, error) { return r.listeners[i], nil })
	if err != nil {
		return executor.Exit{}, err
	}
	r.serving = serving
	stop := context.AfterFunc(ctx, func() {
		if r.spec.Leaves(context.Cause(ctx)) {
			r.control.close() // await returns, and the first process waits for the next owner
			return
		}
		_ = r.control.send(message{Cancel: true})
	})
	defer stop()
	rep, err := r.await()
	if cause := context.Cause(ctx); r.spec.Leaves(cause) {
		r.left = true
		return executor.Exit{}, cause
	}
	waitErr := r.reap(ctx)
	if err != nil {
		rep, err = r.unreported(ctx, err)
	}
	if err != nil && ctx.Err() != nil { // cancelled as it began, when the first process is killed
		return executor.Exit{}, context.Cause(ctx)
	}
	if err != nil {
		return executor.Exit{}, fmt.Errorf("run command: the sandbox ended without a report: %w", errors.Join(err, waitErr))
	}
	r.follower.Finish()
	r.countGroup(&rep.Exit)
	rep.Exit.Enforced = r.ready.Held
	if rep.Exit.Resumed = r.resumed; !r.spec.Resume {
		rep.Exit.LogDropped = r.output.Dropped()
	}
	switch {
	case errors.Is(waitErr, executor.ErrStuck):
		return rep.Exit, executor.ErrStuck
	case ctx.Err() != nil:
		return rep.Exit, context.Cause(ctx)
	case waitErr != nil:
		return rep.Exit, fmt.Errorf("pass on standard streams: %w", waitErr)
	}
	return rep.Exit, serving.Close()
}

// extend replaces the command's time limit, for later owners, too.
func (r *run) extend(limit time.Duration) error {
	r.record.Timeout = limit
	if r.spec.Resume {
		if err := claim.Save(r.claim.Path(recordFile), r.record); err != nil {
			return err
		}
	}
	return r.control.send(message{Limit: limit})
}

// unreported returns the report of a first process that ended without sending one. It
// is the report that the process recorded or, if the kernel killed it because of the
// command's memory, a report that says so. Otherwise it returns err.
func (r *run) unreported(ctx context.Context, err error) (report, error) {
	if written, ended := loadEnd(r.claim.Dir); r.spec.Resume && ended {
		return written, nil
	}
	killed := r.controlGroup().number("memory.events", "oom_kill") > 0
	if r.record.Container != "" {
		killed = r.e.opts.Containers.OutOfMemory(context.WithoutCancel(ctx), r.record.Container)
	}
	if !killed {
		return report{}, err
	}
	return report{Exit: executor.Exit{Reason: executor.OutOfMemory, Wall: time.Since(r.record.Started)}}, nil
}

// controlGroup returns the run's cgroup, or nil if it has none.
func (r *run) controlGroup() *group {
	if r.group == nil && r.record.Group != "" {
		r.group = &group{dir: r.record.Group}
	}
	return r.group
}

// countGroup adds the counters of the cgroup.
func (r *run) countGroup(exit *executor.Exit) {
	group := r.controlGroup()
	exit.PeakMemoryBytes = max(exit.PeakMemoryBytes, group.number("memory.peak", ""))
	exit.OOMKills += int(group.number("memory.events", "oom_kill"))
	if exit.Reason == executor.Signalled {
		exit.CountKills()
	}
}

// reap waits for the end of the first process and of all others in its sandbox.
func (r *run) reap(ctx context.Context) error {
	if r.record.Container != "" { // it is removed next
		return r.streams.Wait(first.OutputDelay)
	}
	if r.process == nil {
		return r.awaitProcess(ctx)
	}
	done := make(chan error, 1)
	process := r.process
	r.process = nil
	go func() {
		_, err := r.wait(process)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(executor.StuckTimeout):
		return executor.ErrStuck
	}
}

// await returns the first process's report.
func (r *run) await() (report, error) {
	if r.ended != nil {
		return *r.ended, nil
	}
	for {
		m, files, err := r.control.receive()
		closeAll(files)
		switch {
		case err != nil:
			return report{}, err
		case m.Report != nil:
			return *m.Report, nil
		case m.Frozen:
			r.frozen <- m.Failed
		case m.Memory > 0 && r.spec.OnUse != nil:
			r.spec.OnUse(executor.Use{MemoryBytes: m.Memory, CPU: time.Duration(m.CPU)})
		}
	}
}

// remove removes everything of the run from the machine.
func (r *run) remove(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if r.process != nil {
		_ = r.process.Kill()
		_ = r.reap(ctx)
	}
	r.close()
	err := errors.Join(r.e.kill(ctx, r.claim.Dir, r.record), r.group.remove())
	if err != nil {
		return errors.Join(err, r.claim.Drop())
	}
	return r.claim.Remove()
}

// close closes this process's files of the run.
func (r *run) close() {
	if r.serving != nil {
		_ = r.serving.Close()
	}
	for _, l := range r.listeners {
		if l != nil {
			_ = l.Close()
		}
	}
	r.control.close()
	if r.pidfd >= 0 {
		_ = unix.Close(r.pidfd)
	}
	r.streams.Close()
	r.follower.Finish()
	r.image.close()
	closeAll(r.locks)
}
