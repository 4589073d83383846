package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// Executor runs commands in sandboxes.
type Executor struct {
	opts Options
	made programs
}

// New returns the runtime's Executor.
func New(opts Options) *Executor { return &Executor{opts: opts.withDefaults()} }

// Runtime returns the runtime "sandbox".
func (e *Executor) Runtime() executor.Runtime {
	return executor.Runtime{
		Name: "sandbox",
		Doc: "Runs the command in namespaces of its own, with an image as its root and nothing of the machine but what the step " +
			"mounts, no network and no privileges. Needs Linux that lets users have namespaces: neither root nor a daemon.",
		Isolates: true, Images: true, MapsPaths: true,
		Executor: e, ResolveImage: ResolveImage, ProgramImage: e.ProgramImage,
	}
}

// run is one command in its sandbox, as its owner sees it.
type run struct {
	e     *Executor
	spec  executor.Spec
	dir   string
	image *unpacked
	// cmd is the first process, control the socket to it.
	cmd     *exec.Cmd
	control conn
	serving *executor.Serving
	output  *executor.Output
	ready   ready
	// listeners are the services, in order.
	listeners []net.Listener
}

// Run implements executor.Executor.
func (e *Executor) Run(ctx context.Context, spec executor.Spec, logs io.Writer) (exit executor.Exit, err error) {
	if err := check(spec); err != nil {
		return exit, err
	}
	if ctx.Err() != nil {
		return exit, context.Cause(ctx)
	}
	r := &run{e: e, spec: spec, dir: filepath.Join(e.opts.Dir, "runs", runName(spec))}
	defer func() { err = errors.Join(err, r.remove()) }()
	setup, started, cancel := limitSetup(ctx, spec.Limits.Setup)
	defer cancel()
	if err := r.create(setup, logs); err != nil {
		if cause := context.Cause(setup); cause != nil {
			err = cause
		}
		return exit, err
	}
	started()
	if spec.OnStart != nil {
		spec.OnStart(r.ready.Started)
	}
	return r.watch(ctx)
}

// runName names a run's folder. Only a run that may be resumed must be found
// again.
func runName(spec executor.Spec) string {
	name := spec.ID
	if !spec.Resume {
		name += "\n" + rand.Text()
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:12])
}

// limitSetup returns a context that is cancelled when the set-up, which started
// ends, takes longer than d; 0 is no limit.
func limitSetup(ctx context.Context, d time.Duration) (limited context.Context, started, cancel func()) {
	limited, stop := context.WithCancelCause(ctx)
	started = func() {}
	if d > 0 {
		timer := time.AfterFunc(d, func() { stop(fmt.Errorf("the set-up takes longer than %v", d)) })
		started = func() { timer.Stop() }
	}
	return limited, started, func() { stop(nil) }
}

// create makes the sandbox and starts the command in it.
func (r *run) create(ctx context.Context, logs io.Writer) (err error) {
	if r.image, err = r.e.image(ctx, r.spec.Image); err != nil {
		return err
	}
	base := filepath.Join(r.dir, "base")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return err
	}
	p, err := r.e.plan(r.spec, r.image, base)
	if err != nil {
		return err
	}
	if err := r.startInit(p, logs); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = r.cmd.Process.Kill() })
	defer stop()
	m, files, err := r.control.receive()
	if err != nil || m.Ready == nil {
		return r.setupError(m, err)
	}
	r.ready = *m.Ready
	return r.serve(ctx, files)
}

// setupError is why the first process did not get to the command.
func (r *run) setupError(m message, err error) error {
	_ = r.cmd.Process.Kill()
	waitErr := r.cmd.Wait()
	switch {
	case m.Failed != "" && m.Start:
		return fmt.Errorf("%w: %s", executor.ErrStart, m.Failed)
	case m.Failed != "":
		return fmt.Errorf("make sandbox: %s", m.Failed)
	}
	return fmt.Errorf("make sandbox: its first process ended without a word: %w", errors.Join(err, waitErr))
}

// startInit starts the first process with what it is told.
func (r *run) startInit(p *plan, logs io.Writer) error {
	told, err := planFile(p)
	if err != nil {
		return err
	}
	defer told.Close()
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	r.control = conn{ours}
	cmd := exec.Command(r.e.opts.Self, InitCommand)
	cmd.Env = []string{initVariable + "=1"}
	cmd.ExtraFiles = []*os.File{controlFD - 3: theirs, planFD - 3: told}
	cmd.SysProcAttr = r.attributes(p)
	cmd.WaitDelay = outputDelay
	cmd.Stdin = r.spec.Stdin
	r.output = executor.NewOutput(r.spec.Limits.LogBytes)
	cmd.Stderr = r.output.Writer(logs)
	cmd.Stdout = cmd.Stderr
	if r.spec.Stdout != nil {
		cmd.Stdout = r.spec.Stdout
	}
	r.cmd = cmd
	if err := cmd.Start(); err != nil {
		r.cmd = nil
		return refused(err)
	}
	return nil
}

// outputDelay is how long output is awaited after everything is dead.
const outputDelay = 2 * time.Second

// planFile is a file in memory with the plan.
func planFile(p *plan) (*os.File, error) {
	text, err := encodePlan(p)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "plan")
	if _, err := f.Write(text); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// attributes are the namespaces of the first process. It keeps the capabilities that
// a user has in a user namespace of its own until the command is started.
func (r *run) attributes(p *plan) *syscall.SysProcAttr {
	flags := unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	if !p.HostNetwork {
		flags |= unix.CLONE_NEWNET
	}
	var all []uintptr
	for n := range uintptr(unix.CAP_LAST_CAP + 1) {
		all = append(all, n)
	}
	return &syscall.SysProcAttr{
		Cloneflags:  uintptr(flags),
		UidMappings: []syscall.SysProcIDMap{{ContainerID: p.User, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: p.Group, HostID: os.Getegid(), Size: 1}},
		AmbientCaps: all,
		Setsid:      true,
	}
}

// refused says why the kernel does not let this user have namespaces.
func refused(err error) error {
	return fmt.Errorf("make sandbox: start its first process in namespaces of its own: %w", err)
}

// serve serves the services on the listeners that came out of the sandbox.
func (r *run) serve(_ context.Context, files []*os.File) error {
	if len(files) != len(r.spec.Services) {
		return fmt.Errorf("make sandbox: %d listeners came out of it, of %d", len(files), len(r.spec.Services))
	}
	listeners := make([]net.Listener, len(files))
	for i, f := range files {
		l, err := net.FileListener(f)
		f.Close()
		if err != nil {
			return err
		}
		listeners[i] = l
	}
	r.listeners = listeners
	return nil
}

// watch waits for the end of the command, brings it about in time, and returns what
// it used.
func (r *run) watch(ctx context.Context) (executor.Exit, error) {
	ctx, serving, err := executor.Serve(ctx, r.spec.Services, func(i int) (net.Listener, error) { return r.listeners[i], nil })
	if err != nil {
		return executor.Exit{}, err
	}
	r.serving = serving
	stop := context.AfterFunc(ctx, func() { _ = r.control.send(message{Cancel: true}) })
	defer stop()
	rep, err := r.await()
	waitErr := r.cmd.Wait()
	r.cmd = nil
	if err != nil {
		return executor.Exit{}, fmt.Errorf("run command: the sandbox ended without a report: %w", errors.Join(err, waitErr))
	}
	rep.Exit.LogDropped = r.output.Dropped()
	var status *exec.ExitError
	switch {
	case rep.Stuck > 0:
		return rep.Exit, fmt.Errorf("stop command: %d processes would not die", rep.Stuck)
	case ctx.Err() != nil:
		return rep.Exit, context.Cause(ctx)
	case waitErr != nil && !errors.As(waitErr, &status):
		return rep.Exit, fmt.Errorf("pass on standard streams: %w", waitErr)
	}
	return rep.Exit, serving.Close()
}

// await returns the first process's report.
func (r *run) await() (report, error) {
	for {
		m, files, err := r.control.receive()
		for _, f := range files {
			f.Close()
		}
		switch {
		case err != nil:
			return report{}, err
		case m.Report != nil:
			return *m.Report, nil
		case m.Memory > 0 && r.spec.OnMemory != nil:
			r.spec.OnMemory(m.Memory)
		}
	}
}

// remove removes everything of the run from the machine.
func (r *run) remove() error {
	if r.cmd != nil && r.cmd.Process != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	}
	if r.serving != nil {
		_ = r.serving.Close()
	}
	for _, l := range r.listeners {
		_ = l.Close()
	}
	if r.control.file != nil {
		_ = r.control.file.Close()
	}
	r.image.close()
	return os.RemoveAll(r.dir)
}

var _ executor.Executor = (*Executor)(nil)
