package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	cgroup1 "github.com/containerd/cgroups/v3/cgroup1/stats"
	cgroup2 "github.com/containerd/cgroups/v3/cgroup2/stats"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

// waiter is a process or a task.
type waiter interface {
	Wait(context.Context) (<-chan client.ExitStatus, error)
}

// awaitExit waits for the process's end, across restarts of the daemon and beyond the
// end of ctx.
func awaitExit(ctx context.Context, p waiter) (<-chan client.ExitStatus, error) {
	ctx = context.WithoutCancel(ctx)
	first, err := p.Wait(ctx)
	if err != nil {
		return nil, err
	}
	out := make(chan client.ExitStatus, 1)
	go func() {
		status := <-first
		for since := time.Now(); errdefs.IsUnavailable(errgrpc.ToNative(status.Error())) && time.Since(since) < daemonPatience; {
			time.Sleep(time.Second)
			if again, err := p.Wait(ctx); err == nil {
				status = <-again
			}
		}
		out <- status
		close(out) // further receives see that it is over
	}()
	return out, nil
}

// daemonPatience is the time to wait for a daemon that went away.
const daemonPatience = time.Minute

// watch waits for the command's end, enforces its time limit, and returns its use of
// resources.
func (r *run) watch(ctx context.Context) (executor.Exit, error) {
	measuring, cancel := context.WithCancel(ctx) // a shim may not answer
	end := r.spec.ReportUse(func() (executor.Use, bool) {
		used, err := measure(measuring, r.task)
		return executor.Use{MemoryBytes: used.now, CPU: used.cpu}, err == nil
	})
	stopped, status, err := r.await(ctx)
	cancel()
	end()
	if cause := context.Cause(ctx); r.spec.Leaves(cause) {
		r.left = true
		return executor.Exit{}, cause
	}
	if err != nil {
		return executor.Exit{}, errors.Join(err, r.kill(ctx))
	}
	live := context.WithoutCancel(ctx)
	leftover := len(r.others(live))
	used, usedErr := measure(live, r.task)
	if r.resumed {
		usedErr = nil // the container may be long gone
	}
	if err := r.kill(live); err != nil {
		return executor.Exit{}, err
	}
	exit := r.exit(status, stopped, used)
	exit.Leftover = leftover
	dropped, err := r.drain(live)
	exit.LogDropped = dropped
	switch {
	case ctx.Err() != nil:
		return exit, context.Cause(ctx)
	case status.Error() != nil:
		return exit, fmt.Errorf("wait for command: %w", status.Error())
	}
	return exit, errors.Join(err, usedErr, r.serving.Close())
}

// await returns when the command has ended, with the reason if it was stopped.
func (r *run) await(ctx context.Context) (stopped executor.Reason, status client.ExitStatus, err error) {
	timeout, cancelled := make(<-chan time.Time), ctx.Done()
	if d := r.record.Deadline(); !d.IsZero() {
		timeout = time.After(time.Until(d))
	}
	kill := make(<-chan time.Time)
	for {
		select {
		case status := <-r.exited:
			if late(status, r.record) && stopped == "" && ctx.Err() == nil {
				stopped = executor.TimedOut // by the log's keeper
			}
			return stopped, status, nil
		case limit := <-r.limits:
			if r.record.Timeout = limit; timeout != nil {
				timeout = time.After(time.Until(r.record.Deadline()))
			}
			if err := claim.Save(r.claim.Path(recordFile), r.record); err != nil {
				return stopped, status, err
			}
		case <-timeout:
			if ctx.Err() == nil {
				stopped = executor.TimedOut
			}
			r.soften(ctx)
			timeout, cancelled, kill = nil, nil, time.After(r.record.Grace)
		case <-cancelled:
			if r.spec.Leaves(context.Cause(ctx)) {
				return stopped, status, nil
			}
			r.soften(ctx)
			timeout, cancelled, kill = nil, nil, time.After(r.record.Grace)
		case <-kill:
			if err := r.kill(ctx); err != nil {
				return stopped, status, err
			}
			kill = nil
		}
	}
}

// extend replaces the command's time limit, for later owners, too.
func (r *run) extend(limit time.Duration) error {
	select {
	case r.limits <- limit:
		return nil
	default:
		return errors.New("the command is just ending")
	}
}

func late(status client.ExitStatus, rec record) bool {
	d := rec.Deadline()
	return !d.IsZero() && status.ExitTime().After(d)
}

// soften sends SIGTERM to every process in the container.
func (r *run) soften(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	_ = r.process.Kill(ctx, syscall.SIGTERM)
	for _, pid := range r.others(ctx) {
		r.signal(pid, unix.SIGTERM)
	}
}

// signal signals a process if it is still in the container, because its PID may have
// been reused.
func (r *run) signal(pid int, sig unix.Signal) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err == nil && strings.Contains(string(groups), r.id) {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// others returns the live processes besides the pause and the command, as far as they are
// known.
func (r *run) others(ctx context.Context) (pids []int) {
	all, _ := r.task.Pids(ctx)
	for _, p := range all {
		if p.Pid != r.task.Pid() && p.Pid != r.process.Pid() {
			pids = append(pids, int(p.Pid))
		}
	}
	return pids
}

// exit describes the command's end. If a signal ended the process, the daemon reports
// 128 plus its number, as a shell would.
func (r *run) exit(status client.ExitStatus, stopped executor.Reason, used usage) executor.Exit {
	exit := executor.Exit{
		Reason: executor.Exited, Code: int(status.ExitCode()), Wall: status.ExitTime().Sub(r.record.Started),
		CPU: used.cpu, PeakMemoryBytes: used.peak, OOMKills: used.oomKills, Resumed: r.resumed, LostServices: r.lost,
	}
	if exit.Code > 128 && exit.Code <= 128+64 {
		exit.Reason, exit.Signal = executor.Signalled, exit.Code-128
	}
	exit.CountKills()
	if stopped != "" {
		exit.Reason = stopped
	}
	return exit
}

// drain waits until all output has been passed on and returns the number of dropped
// bytes.
func (r *run) drain(ctx context.Context) (dropped int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	if _, err := r.process.Delete(ctx); err != nil && !errdefs.IsNotFound(err) {
		return 0, fmt.Errorf("collect output: %w", err)
	}
	if r.follower != nil {
		defer r.follower.Finish()
		return droppedOf(r.claim.Dir)
	}
	return r.output.Dropped(), r.streams.failed()
}

// gone reports whether a request came too late for its container.
func gone(err error) bool {
	return errdefs.IsNotFound(err) || errdefs.IsFailedPrecondition(err)
}

// usage is a container's use of resources, according to its cgroup.
type usage struct {
	cpu  time.Duration
	peak int64
	// now is the memory that it currently holds, without cached files, which the kernel
	// frees when memory is short.
	now      int64
	oomKills int
}

// measure reads the cgroup's counters. It must be called before the task is
// deleted.
func measure(ctx context.Context, task client.Task) (usage, error) {
	m, err := task.Metrics(ctx)
	if err != nil {
		return usage{}, fmt.Errorf("read what the container used: %w", err)
	}
	data, err := typeurl.UnmarshalAny(m.Data)
	if err != nil {
		return usage{}, fmt.Errorf("read what the container used: %w", err)
	}
	u, err := usageOf(data)
	if _, unified := data.(*cgroup2.Metrics); unified {
		u.peak = max(u.peak, unifiedPeak(int(task.Pid())))
	}
	return u, err
}

// unifiedPeak returns the peak memory of a process's cgroup of version 2, which daemons
// before containerd 1.7 do not report. It returns 0 if the peak is unknown: kernels
// before 5.19 do not record it.
func unifiedPeak(pid int) int64 {
	group := executor.ControlGroup(strconv.Itoa(pid))
	if group == "" || group == "/" {
		return 0 // version 1, or not a group of its own
	}
	text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", group, "memory.peak"))
	if err != nil {
		return 0
	}
	peak, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return peak
}

func held(usage, files uint64) int64 { return int64(usage - min(usage, files)) }

// usageOf reads the counters of either version of cgroups.
func usageOf(data any) (usage, error) {
	switch m := data.(type) {
	case *cgroup1.Metrics:
		return usage{
			cpu:      time.Duration(m.GetCPU().GetUsage().GetTotal()),
			peak:     int64(m.GetMemory().GetUsage().GetMax()),
			now:      held(m.GetMemory().GetUsage().GetUsage(), m.GetMemory().GetTotalInactiveFile()),
			oomKills: int(m.GetMemoryOomControl().GetOomKill()),
		}, nil
	case *cgroup2.Metrics:
		peak := max(m.GetMemory().GetMaxUsage(), m.GetMemory().GetUsage())
		return usage{
			cpu:      time.Duration(m.GetCPU().GetUsageUsec()) * time.Microsecond,
			peak:     int64(peak),
			now:      held(m.GetMemory().GetUsage(), m.GetMemory().GetInactiveFile()),
			oomKills: int(m.GetMemoryEvents().GetOomKill()),
		}, nil
	}
	return usage{}, fmt.Errorf("read what the container used: unknown metrics %T", data)
}

// freeze stops all processes of the task.
func (r *run) freeze(ctx context.Context) (thaw func(), err error) {
	if err := r.task.Pause(ctx); err != nil {
		return nil, fmt.Errorf("freeze command: %w", err)
	}
	return func() { _ = r.task.Resume(context.WithoutCancel(ctx)) }, nil
}
