package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
)

// outputDelay is the maximum wait for output after all processes have ended.
const outputDelay = 2 * time.Second

// Executor runs commands as processes of this machine.
type Executor struct {
	self string

	mu sync.Mutex
	// idle are the supervisors without a command.
	idle []*supervisor
}

// New returns the runtime's Executor. self is the program that it starts as a
// supervisor if this program was built without a small one, and must import this
// package; "" is the running binary.
func New(self string) *Executor {
	return &Executor{self: cmp.Or(self, "/proc/self/exe")}
}

// Runtime returns the runtime "process".
func Runtime(self string) executor.Runtime {
	return executor.Runtime{
		Name: "process",
		Doc: "Runs the command as an ordinary process of the same user. Needs nothing installed and does not isolate: " +
			"the command can read whatever the user can read.",
		Executor: New(self),
	}
}

// Run implements executor.Executor.
func (e *Executor) Run(ctx context.Context, spec executor.Spec, logs io.Writer) (executor.Exit, error) {
	if err := check(spec); err != nil {
		return executor.Exit{}, err
	}
	if err := ctx.Err(); err != nil {
		return executor.Exit{}, context.Cause(ctx)
	}
	env, err := withDevices(spec)
	if err != nil {
		return executor.Exit{}, err
	}
	spec.Env = env
	ctx, serving, err := executor.Serve(ctx, spec.Services, func(int) (net.Listener, error) {
		return net.Listen("tcp4", "127.0.0.1:0") // a free port, because the guest shares the host's
	})
	if err != nil {
		return executor.Exit{}, err
	}
	maps.Copy(spec.Env, serving.Env())
	exit, err := e.run(ctx, spec, logs)
	serving.Close()
	return exit, err
}

func (e *Executor) run(ctx context.Context, spec executor.Spec, logs io.Writer) (executor.Exit, error) {
	marker := MarkerVariable + "=" + rand.Text()
	order, err := newOrder(spec, marker)
	if err != nil {
		return executor.Exit{}, executor.Unstartable(err)
	}
	output := guest.NewOutput(spec.Limits.LogBytes)
	streams, err := executor.OpenStreams(spec, output.Writer(logs))
	if err != nil {
		return executor.Exit{}, fmt.Errorf("open standard streams: %w", err)
	}
	super, err := e.hire()
	if err != nil {
		streams.Close()
		return executor.Exit{}, fmt.Errorf("start supervisor: %w", err)
	}
	super.orders()
	if spec.OnFreezer != nil {
		spec.OnFreezer(func(context.Context) (func(), error) { return supervise.Freeze(super.cmd.Process.Pid) })
	}
	if spec.OnLimit != nil {
		spec.OnLimit(super.limit)
	}
	if spec.OnStart != nil {
		spec.OnStart(time.Now())
	}
	pid := super.cmd.Process.Pid
	stop := spec.ReportUse(func() (executor.Use, bool) {
		held, cpu := supervise.Use(pid, spec.Limits.MemoryBytes)
		return executor.Use{MemoryBytes: held, CPU: cpu}, held > 0
	})
	rep, free, err := super.converse(ctx, order, streams)
	stop()
	if free {
		e.release(super)
	} else {
		super.close()
	}
	if err != nil {
		supervise.Hunt(marker)
		_ = streams.Wait(outputDelay)
		return executor.Exit{}, err
	}
	if err := streams.Wait(outputDelay); err != nil {
		return executor.Exit{}, fmt.Errorf("pass on standard streams: %w", err)
	}
	exit := executor.Exit{
		Reason: executor.Reason(rep.Reason), Code: rep.Code, Signal: rep.Signal, Wall: rep.Wall, CPU: rep.CPU,
		PeakMemoryBytes: rep.PeakMemoryBytes, Leftover: rep.Leftover, LogDropped: output.Dropped(),
	}
	switch {
	case rep.StartError != "":
		return executor.Exit{}, executor.Unstartable(errors.New(rep.StartError))
	case rep.Stuck > 0:
		return exit, fmt.Errorf("stop command: %d processes would not die", rep.Stuck)
	case rep.Cancelled:
		return exit, context.Cause(ctx)
	}
	return exit, nil
}

func check(spec executor.Spec) error {
	switch {
	case spec.Image != "":
		return fmt.Errorf("run command: the process runtime has no images, and %q is asked for", spec.Image)
	case len(spec.Command) == 0:
		return fmt.Errorf("%w: no command given", executor.ErrStart)
	}
	return nil
}

func newOrder(spec executor.Spec, marker string) (supervise.Order, error) {
	env := executor.Pairs(spec.Env)
	path, err := guest.LookPath(spec.Command[0], env, spec.Dir)
	if err != nil {
		return supervise.Order{}, err
	}
	grace := cmp.Or(spec.Limits.Grace, executor.DefaultGrace)
	return supervise.Order{
		Path: path, Command: spec.Command, Env: append(env, marker), Dir: spec.Dir,
		Timeout: spec.Limits.Timeout, Grace: grace,
		MemoryBytes: spec.Limits.MemoryBytes, FileBytes: spec.Limits.FileBytes, Processes: spec.Limits.Processes,
		ReadOnly: readOnly(spec.Mounts),
	}, nil
}

// readOnly returns the folders and files that the command may only read.
func readOnly(mounts []executor.Mount) (paths []string) {
	for _, m := range mounts {
		if m.ReadOnly {
			paths = append(paths, m.Host)
		}
	}
	return paths
}
