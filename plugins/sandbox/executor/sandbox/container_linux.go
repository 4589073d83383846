package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// doorFile is the socket of a run through which the first process of a container gets its
// descriptors.
const doorFile = "door"

// createContainer starts the command in a container.
func (r *run) createContainer(ctx context.Context, logs io.Writer) error {
	server, name := r.e.opts.Containers, filepath.Base(r.claim.Dir)
	open := func(dir string) (v1.Image, error) { return r.e.open(ctx, r.spec.Image, dir, r.spec.Work) }
	place, err := server.Place(ctx, r.spec, open, r.claim.Dir)
	if err != nil {
		return err
	}
	if place.Host != nil {
		if err := executor.Give(r.spec.Mounts, place.Host.UID, place.Host.GID); err != nil {
			return err
		}
	}
	p, err := r.containerPlan(place)
	if err != nil {
		return err
	}
	files, err := r.containerFiles(p, logs)
	defer closeAll(files)
	if err != nil {
		return err
	}
	door, err := r.listenAt(doorFile)
	if err != nil {
		return err
	}
	defer door.Close() // nobody else comes in
	// The container's user is another one, and only the container has the path.
	if err := os.Chmod(r.claim.Path(doorFile), 0o777); err != nil { //nolint:gosec // below a folder of this user alone
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Remove(context.WithoutCancel(ctx), name) })
	defer stop()
	r.record.Container, err = server.Start(ctx, Container{
		Place: place, Run: name, Dir: r.claim.Dir, Spec: r.spec, Plan: &p.Plan, Self: r.self(), Door: r.claim.Path(doorFile),
	})
	if err == nil {
		err = r.letIn(ctx, door, files)
	}
	if err != nil {
		return fmt.Errorf("make container: %w", err)
	}
	closeAll(files)
	r.streams.Given()
	return r.begin(p)
}

// self returns the path of the program that is started as the first process.
func (r *run) self() string {
	if path, err := filepath.EvalSymlinks(r.e.opts.Self); err == nil {
		return path
	}
	return r.e.opts.Self
}

// containerPlan returns the plan for the first process, with what the server leaves to it.
func (r *run) containerPlan(place Place) (*plan, error) {
	img := &unpacked{}
	img.config.Env, img.config.WorkingDir = place.Env, place.WorkingDir
	spec := r.spec
	if place.Devices { // the server mounts what their descriptions have
		spec.Devices = nil
	}
	p, err := r.e.plan(spec, place.User, img, "")
	if err != nil {
		return nil, err
	}
	p.Container = true
	if place.Devices {
		if err := r.e.deviceEnv(p, r.spec); err != nil {
			return nil, err
		}
	}
	if err := r.limit(p, ""); err != nil {
		return nil, err
	}
	for _, l := range []struct {
		name string
		held bool
		ours *int64
	}{{"memory", place.Memory, &p.Limits.MemoryBytes}, {"processes", place.Processes, &p.Limits.Processes}} {
		if p.Held[l.name] != "" && l.held {
			p.Held[l.name], *l.ours = "cgroup", 0
		}
	}
	if p.Held["cpus"] != "" && place.CPUs {
		closeAll(r.locks)
		p.Held["cpus"], p.CPUs, p.View.CPUs, r.locks = "cgroup", nil, executor.Processors(r.spec.Limits.CPUs), nil
	}
	for _, file := range guest.MachineFiles {
		if text, err := os.ReadFile(file); err == nil && file != "/proc/stat" && p.View.Changes(file) {
			p.Files[file] = string(p.View.Show(file, text, 0))
		}
	}
	maps.Copy(p.Held, place.Held)
	return p, nil
}

// deviceEnv adds the variables of devices whose other needs the server meets.
func (e *Executor) deviceEnv(p *plan, spec executor.Spec) error {
	described, env := &plan{first.Plan{Links: map[string]string{}}}, map[string]string{}
	if err := e.equip(described, env, spec.Devices); err != nil {
		return err
	}
	for _, v := range executor.Pairs(env) {
		p.Env = append(p.Env, first.Text(v))
	}
	return nil
}

// containerFiles opens the descriptors for the first process, in their order.
func (r *run) containerFiles(p *plan, logs io.Writer) (files []*os.File, err error) {
	null := func() *os.File {
		f, openErr := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		err = cmp.Or(err, openErr)
		return f
	}
	if r.output = guest.NewOutput(r.spec.Limits.LogBytes); r.spec.Resume {
		files = append(files, null(), null(), null())
	} else {
		if r.streams, err = executor.OpenStreams(r.spec, r.output.Writer(logs)); err != nil {
			return nil, err
		}
		for _, f := range r.streams.Guest() {
			own, dupErr := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
			if dupErr != nil {
				return files, dupErr
			}
			files = append(files, os.NewFile(uintptr(own), "stream"))
		}
	}
	ours, theirs, pairErr := executor.SocketPair(unix.SOCK_SEQPACKET)
	if pairErr != nil {
		return files, pairErr
	}
	r.control = conn{ours}
	told, planErr := planFile(p)
	files = append(files, theirs, told, null())
	if err = errors.Join(err, planErr); err != nil {
		return files, err
	}
	if !r.spec.Resume {
		files = append(files, null(), null(), null())
		return append(files, r.duplicates()...), err
	}
	kept, err := r.keepFiles()
	return append(append(files, kept...), r.duplicates()...), err
}

// duplicates returns the locks for the first process, which holds them while it lives.
func (r *run) duplicates() (files []*os.File) {
	for _, l := range r.locks {
		if fd, err := unix.FcntlInt(l.Fd(), unix.F_DUPFD_CLOEXEC, 0); err == nil {
			files = append(files, os.NewFile(uintptr(fd), "lock"))
		}
	}
	return files
}

// listenAt listens at a new socket in the run's folder.
func (r *run) listenAt(name string) (l *net.UnixListener, err error) {
	_ = os.Remove(r.claim.Path(name)) // it may be left from a failed start
	err = inFolder(r.claim.Dir, name, func(at *net.UnixAddr) error {
		if l, err = net.ListenUnix(at.Net, at); err == nil {
			l.SetUnlinkOnClose(false)
		}
		return err
	})
	return l, err
}

// doorPause is the time between two looks at a container that does not come to the door.
const doorPause = 500 * time.Millisecond

// letIn waits until the first process comes to the door, and gives it the descriptors.
func (r *run) letIn(ctx context.Context, door *net.UnixListener, files []*os.File) error {
	for {
		if err := door.SetDeadline(time.Now().Add(doorPause)); err != nil {
			return err
		}
		in, err := door.AcceptUnix()
		switch {
		case err == nil:
			defer in.Close()
			var fds []int
			for _, f := range files {
				fds = append(fds, int(f.Fd()))
			}
			_, _, err = in.WriteMsgUnix([]byte{0}, unix.UnixRights(fds...), nil)
			return err
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		running, err := r.e.opts.Containers.Running(ctx, r.record.Container)
		if err != nil {
			return err
		}
		if !running {
			return errors.New(cmp.Or(r.e.opts.Containers.Failure(ctx, r.record.Container), "its first process ended without a word"))
		}
	}
}

// awaitContainer waits for the end of a container.
func (r *run) awaitContainer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), executor.StuckTimeout)
	defer cancel()
	for {
		running, err := r.e.opts.Containers.Running(ctx, r.record.Container)
		switch {
		case ctx.Err() != nil:
			return executor.ErrStuck
		case err != nil || !running:
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// freezer returns what stops all processes of the command at once. An owner that died may
// have left it frozen.
func (r *run) freezer() func(context.Context) (thaw func(), err error) {
	if r.record.Container == "" {
		supervise.Thaw(r.record.PID)
		return func(context.Context) (func(), error) { return supervise.Freeze(r.record.PID) }
	}
	return func(ctx context.Context) (func(), error) {
		if err := r.control.send(message{Freeze: true}); err != nil {
			return nil, fmt.Errorf("freeze command: %w", err)
		}
		thaw := func() { _ = r.control.send(message{Thaw: true}) }
		select {
		case problem := <-r.frozen:
			if problem != "" {
				return nil, errors.New(problem)
			}
			return thaw, nil
		case <-ctx.Done():
			thaw()
			return nil, context.Cause(ctx)
		case <-time.After(executor.StuckTimeout): // it has ended
			return nil, errors.New("freeze command: no answer")
		}
	}
}

// sweepContainers removes the containers of runs whose folders are gone.
func (e *Executor) sweepContainers(ctx context.Context, all bool) error {
	runs, err := e.opts.Containers.Runs(ctx)
	errs := []error{err}
	slices.Sort(runs)
	for _, name := range slices.Compact(runs) {
		dir := filepath.Join(e.opts.Dir, "runs", name)
		if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
			errs = append(errs, e.sweepRun(ctx, dir, all))
		}
	}
	return errors.Join(errs...)
}
