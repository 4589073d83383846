package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// Executor runs commands in sandboxes.
type Executor struct {
	opts     Options
	programs image.Programs
}

// New returns the runtime's Executor.
func New(opts Options) *Executor {
	opts = opts.WithDefaults("sandbox")
	return &Executor{opts: opts, programs: image.Programs{Dir: filepath.Join(opts.Dir, "programs")}}
}

// Runtime returns the runtime "sandbox".
func (e *Executor) Runtime() executor.Runtime {
	return executor.Runtime{
		Name: "sandbox",
		Doc: "Runs the command in namespaces of its own, with an image as its root and nothing of the machine but what the step " +
			"mounts, no network and no privileges. Needs Linux that lets users have namespaces: neither root nor a daemon.",
		Isolates: true, Images: true, MapsPaths: true, Resumes: true,
		Executor: e, ResolveImage: image.Resolve, ProgramImage: e.programs.Build, HostImage: hostImage, HostProgram: HostProgram, Sweep: e.Sweep, Left: e.left, End: e.end,
	}
}

// run is one command in its sandbox, as seen by its owner.
type run struct {
	e     *Executor
	spec  executor.Spec
	claim *claim.Claim
	image *unpacked
	users users
	// group and locks hold the run's own cgroup and processors.
	group *group
	locks []*os.File
	// process is the first process if it is this process's child; pidfd refers to it if
	// another process started it. control is the socket to it.
	process *os.Process
	streams *executor.Streams
	pidfd   int
	control conn
	// frozen are the answers of a command in a container to freeze.
	frozen chan string
	// ended is the report of a command that ended before it was resumed.
	ended   *report
	resumed bool
	// left means that the command continues without an owner.
	left   bool
	record record
	ready  first.Ready

	serving *executor.Serving
	// listeners are the listeners of the services, in order.
	listeners []net.Listener
	output    *guest.Output
	follower  *executor.Follower
}

// Run implements executor.Executor.
func (e *Executor) Run(ctx context.Context, spec executor.Spec, logs io.Writer) (exit executor.Exit, err error) {
	if err := e.check(spec); err != nil {
		return exit, err
	}
	if ctx.Err() != nil {
		return exit, context.Cause(ctx)
	}
	r := &run{e: e, spec: spec, pidfd: -1, frozen: make(chan string, 1)}
	if r.claim, err = claim.Await(ctx, e.runDir(spec)); err != nil {
		return exit, fmt.Errorf("start command %q: %w", spec.ID, err)
	}
	defer func() {
		if r.left { // the next owner removes it if it cannot continue
			r.close()
			_ = r.claim.Drop()
			return
		}
		err = errors.Join(err, r.remove(ctx))
	}()
	setup, started, cancel := executor.LimitSetup(ctx, spec.Limits.Setup)
	defer cancel()
	if err := r.start(setup, logs); err != nil {
		if cause := context.Cause(setup); cause != nil {
			err = cause
		}
		return exit, err
	}
	started()
	if spec.OnFreezer != nil {
		spec.OnFreezer(r.freezer())
	}
	if spec.OnLimit != nil {
		spec.OnLimit(r.extend)
	}
	if spec.OnStart != nil {
		spec.OnStart(r.record.Started)
	}
	return r.watch(ctx)
}

func (e *Executor) runDir(spec executor.Spec) string {
	return filepath.Join(e.opts.Dir, "runs", spec.RunName())
}

// start finds the command that an earlier process left, or starts a new one.
func (r *run) start(ctx context.Context, logs io.Writer) error {
	found, err := r.find(ctx)
	if err != nil {
		return err
	}
	create := r.create
	if r.e.opts.Containers != nil {
		create = r.createContainer
	}
	if !found {
		if err := create(ctx, logs); err != nil {
			return err
		}
	}
	if r.spec.Resume {
		r.follower, err = executor.Follow(r.claim.Path(outputFile), logs)
	}
	return err
}

// baseName is the folder in a run's folder over which the first process mounts.
const baseName = "base"

// create creates the sandbox and starts the command in it.
func (r *run) create(ctx context.Context, logs io.Writer) (err error) {
	if r.spec.Image == hostImage {
		r.image, err = hostRoot(r.claim.Dir)
	} else if r.image, err = r.e.image(ctx, r.spec.Image, r.spec.Work); err != nil {
		err = fmt.Errorf("unpack image %s: %w", r.spec.Image, err)
	}
	if err != nil {
		return err
	}
	uid, gid, err := executor.ParseUser(r.spec.Sandbox.User)
	if err != nil {
		return err
	}
	user := first.IDs{UID: uid, GID: gid}
	var lock *os.File
	if r.users, lock, err = usersOf(r.e.opts.Dir, user); err != nil {
		return err
	}
	if lock != nil {
		r.locks = append(r.locks, lock)
	}
	base := r.claim.Path(baseName)
	if err := os.MkdirAll(base, 0o700); err != nil {
		return err
	}
	if err := image.CopyUp(ctx, r.image.root, r.spec.Mounts, r.users.guestHost.UID, r.users.guestHost.GID); err != nil {
		return err
	}
	if r.users.first != r.users.guest { // the guest owns what it may write to, if it is not the caller
		if err := executor.Give(r.spec.Mounts, r.users.guestHost.UID, r.users.guestHost.GID); err != nil {
			return err
		}
	}
	p, err := r.e.plan(r.spec, user, r.image, base)
	if err != nil {
		return err
	}
	if err := r.limit(p, delegated(cgroupRoot, executor.ControlGroup("self"))); err != nil {
		return err
	}
	if err = r.startInit(p, logs); err != nil && r.group != nil {
		// Before Linux 5.7, no process can be started in a cgroup.
		if err := errors.Join(r.group.remove(), r.limit(p, "")); err != nil {
			return err
		}
		err = r.startInit(p, logs)
	}
	if err != nil {
		return err
	}
	process := r.process
	r.record = record{PID: process.Pid, Process: claim.ProcessName(process.Pid)}
	if r.group != nil {
		r.record.Group = r.group.dir
	}
	stop := context.AfterFunc(ctx, func() { _ = process.Kill() })
	defer stop()
	return r.begin(p)
}

// begin waits until the first process has started the command, and records the run.
func (r *run) begin(p *plan) error {
	m, files, err := r.control.receive()
	if err != nil || m.Ready == nil {
		return r.setupError(m, err)
	}
	r.ready = *m.Ready
	r.record.Held = r.ready.Held
	r.record.Run = claim.Run{ID: r.spec.ID, Boot: claim.BootID(), Started: r.ready.Started, Timeout: p.Limits.Timeout, Grace: p.Limits.Grace}
	if r.spec.Resume {
		if err := claim.Save(r.claim.Path(recordFile), r.record); err != nil {
			return err
		}
		// The command, and with it the first process, may have ended meanwhile. Its
		// report is then waiting on the socket.
		if err := r.control.send(message{Keep: true}); err != nil && !errors.Is(err, unix.EPIPE) {
			return fmt.Errorf("make sandbox: %w", err)
		}
	}
	return r.takeListeners(files)
}

// limit chooses the mechanism for each limit: a cgroup if this user can create one
// below above, and otherwise the alternatives.
func (r *run) limit(p *plan, above string) (err error) {
	l := r.spec.Limits
	p.CPUs, p.Limits = nil, first.Limits{
		Timeout: l.Timeout, Grace: cmp.Or(l.Grace, executor.DefaultGrace),
		MemoryBytes: l.MemoryBytes, Processes: int64(l.Processes), FileBytes: l.FileBytes, LogBytes: l.LogBytes,
	}
	if r.group, err = newGroup(above, filepath.Base(r.claim.Dir), l); err != nil {
		return err
	}
	p.Held, p.View = map[string]string{}, executor.MachineOf(l)
	if l.MemoryBytes > 0 {
		p.Held["memory"] = "watcher"
		if r.group != nil {
			p.Held["memory"], p.Limits.MemoryBytes = "cgroup", 0
		}
	}
	if l.Processes > 0 {
		p.Held["processes"] = "rlimit"
		if r.group.has("pids") {
			p.Held["processes"], p.Limits.Processes = "cgroup", 0
		}
	}
	if l.CPUs > 0 {
		p.Held["cpus"] = "shared"
		if r.group.has("cpu") {
			p.Held["cpus"] = "cgroup"
		} else if list, locks := processors(r.e.opts.Processors, l.CPUs); len(list) > 0 {
			p.Held["cpus"], p.CPUs, p.View.CPUs, r.locks = "affinity", list, list, append(r.locks, locks...)
		}
	}
	return nil
}

// setupError returns the reason why the first process did not start the command.
func (r *run) setupError(m message, err error) error {
	var waitErr error
	if process := r.process; process != nil {
		r.process = nil
		_ = process.Kill()
		status, copyErr := r.wait(process)
		waitErr = errors.Join(fmt.Errorf("%v", status), copyErr)
	}
	if r.record.Container != "" {
		waitErr = errors.New(r.e.opts.Containers.Failure(context.Background(), r.record.Container))
	}
	switch {
	case m.Failed != "" && m.Start:
		return executor.Unstartable(errors.New(m.Failed))
	case m.Failed != "":
		return fmt.Errorf("make sandbox: %s", m.Failed)
	}
	return fmt.Errorf("make sandbox: its first process ended without a word: %w", errors.Join(err, waitErr))
}

// startInit starts the first process with the plan.
func (r *run) startInit(p *plan, logs io.Writer) error {
	told, err := planFile(p)
	if err != nil {
		return err
	}
	defer told.Close()
	ours, theirs, err := executor.SocketPair(unix.SOCK_SEQPACKET)
	if err != nil {
		return err
	}
	defer theirs.Close()
	r.control = conn{ours}
	files := []*os.File{first.ControlFD - 3: theirs, first.PlanFD - 3: told, first.ImageFD - 3: r.image.lock}
	if r.output = guest.NewOutput(r.spec.Limits.LogBytes); !r.spec.Resume {
		logs = r.output.Writer(logs)
	} else {
		logs = nil
		kept, err := r.keepFiles()
		defer closeAll(kept)
		if err != nil {
			return err
		}
		files = append(files, kept...)
	}
	if r.streams, err = executor.OpenStreams(r.spec, logs); err != nil {
		return fmt.Errorf("open standard streams: %w", err)
	}
	files = append(append(r.streams.Guest(), files...), r.locks...) // locked while the process lives
	r.users.admit(append(p.Sources(), string(p.Base), r.e.opts.Self))
	r.process, err = r.launch(p, files)
	r.streams.Given()
	if err != nil {
		r.streams.Close()
		return fmt.Errorf("make sandbox: this user may not have namespaces: %w; mleflow doctor says what refuses them and how to change that", err)
	}
	return nil
}

// planFile returns a file in memory with the plan.
func planFile(p *plan) (*os.File, error) {
	text, err := json.Marshal(p)
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

// takeListeners takes over the services' listeners, which the first process passed out.
func (r *run) takeListeners(files []*os.File) error {
	var errs []error
	for _, f := range files {
		l, err := net.FileListener(f)
		f.Close()
		errs = append(errs, err)
		r.listeners = append(r.listeners, l)
	}
	if len(files) != len(r.spec.Services) {
		errs = append(errs, fmt.Errorf("make sandbox: %d listeners came out of it, of %d", len(files), len(r.spec.Services)))
	}
	return errors.Join(errs...)
}

var _ executor.Executor = (*Executor)(nil)
