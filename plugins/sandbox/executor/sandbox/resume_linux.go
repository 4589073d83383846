package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// The entries of a run's folder.
const (
	recordFile = "run.json"
	socketFile = "socket"
	outputFile = "output"
	endFile    = "end.json"
)

// record is the information about a run that a later process needs.
type record struct {
	claim.Run
	// PID is that of the first process; Process is its name, unique on the machine.
	PID     int    `json:"pid"`
	Process string `json:"process"`
	// Group is its cgroup, if it has one. Held names the mechanism that enforces each
	// limit.
	Group string            `json:"group,omitempty"`
	Held  map[string]string `json:"held,omitempty"`
	// Container is the container of the first process, if it lives in one.
	Container string `json:"container,omitempty"`
}

// alive reports whether the first process of a record is alive.
func (e *Executor) alive(ctx context.Context, rec record) (bool, error) {
	if rec.Container != "" && e.opts.Containers != nil {
		return e.opts.Containers.Running(ctx, rec.Container)
	}
	return rec.alive(), nil
}

// alive reports whether the first process is alive.
func (r record) alive() bool { return r.Process != "" && claim.ProcessName(r.PID) == r.Process }

func loadRecord(dir string) (record, error) {
	return claim.Load[record](filepath.Join(dir, recordFile))
}

// loadEnd returns the report that the first process recorded at its end.
func loadEnd(dir string) (rep report, ended bool) {
	rep, err := claim.Load[report](filepath.Join(dir, endFile))
	return rep, err == nil
}

// left reports whether a dead process left a command under this ID that a Run with
// Resume would continue, whether it still runs or has ended.
func (e *Executor) left(ctx context.Context, id string) (bool, error) {
	dir := e.runDir(executor.Spec{ID: id, Resume: true})
	rec, err := loadRecord(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for command %q: %w", id, err)
	}
	if _, ended := loadEnd(dir); ended || !rec.ThisBoot() {
		return ended && rec.ThisBoot(), nil
	}
	return e.alive(ctx, rec)
}

// end stops and removes the command that a dead process left under this ID.
func (e *Executor) end(ctx context.Context, id string) error {
	return e.sweepRun(ctx, e.runDir(executor.Spec{ID: id, Resume: true}), true)
}

// find looks for the command that a dead process left in the run's folder. It removes
// one that cannot be continued.
func (r *run) find(ctx context.Context) (found bool, err error) {
	if !r.spec.Resume {
		return false, nil
	}
	rec, err := loadRecord(r.claim.Dir)
	if err == nil && rec.ThisBoot() {
		alive, aliveErr := r.e.alive(ctx, rec)
		if r.record = rec; alive {
			found, err = r.rejoin(ctx)
		} else if aliveErr != nil {
			return false, fmt.Errorf("resume command: %w", aliveErr)
		}
		r.ready.Held = rec.Held
		if rep, ended := loadEnd(r.claim.Dir); !found && ended {
			found, r.ended = true, &rep
		}
	}
	if found {
		r.resumed = err == nil
		return r.resumed, err
	}
	if err := errors.Join(r.e.kill(ctx, r.claim.Dir, rec), empty(r.claim.Dir)); err != nil {
		return false, fmt.Errorf("remove the remains of an earlier run: %w", err)
	}
	r.record = record{}
	return false, nil
}

// empty removes the content of a run's folder except its lock.
func empty(dir string) error {
	for _, name := range []string{recordFile, socketFile, doorFile, outputFile, endFile, baseName, rootName} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// rejoin makes this process the owner of a first process whose owner died, unless that
// ends without a report.
func (r *run) rejoin(ctx context.Context) (found bool, err error) {
	if r.record.Container == "" {
		if r.pidfd, err = unix.PidfdOpen(r.record.PID, 0); err != nil && err != unix.ENOSYS {
			return r.tooLate(ctx)
		}
	}
	err = inFolder(r.claim.Dir, socketFile, func(at *net.UnixAddr) error {
		r.control.UnixConn, err = net.DialUnix(at.Net, nil, at)
		return err
	})
	if err != nil {
		return r.tooLate(ctx)
	}
	m, files, err := r.control.receive()
	if err != nil || m.Ready == nil {
		return r.tooLate(ctx)
	}
	r.ready = *m.Ready
	return true, r.takeListeners(files)
}

// tooLate handles a command that ends while it is being resumed.
func (r *run) tooLate(ctx context.Context) (found bool, err error) {
	if err := r.awaitProcess(ctx); err != nil {
		return true, err
	}
	rep, ended := loadEnd(r.claim.Dir)
	if ended {
		r.ended = &rep
	} else {
		r.close()
		r.control, r.pidfd = conn{}, -1
	}
	return ended, nil
}

// inFolder calls do with a short path of a socket in the folder, because the paths of
// sockets have at most 107 bytes.
func inFolder(dir, name string, do func(at *net.UnixAddr) error) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	return do(&net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", fd, name), Net: "unixpacket"})
}

// keepFiles returns the files that the first process needs to continue without its
// owner, in the order of their descriptors.
func (r *run) keepFiles() ([]*os.File, error) {
	l, err := r.listenAt(socketFile)
	if err != nil {
		return nil, err
	}
	socket, err := l.File()
	err = errors.Join(err, l.Close())
	files := []*os.File{socket}
	for _, name := range []string{outputFile, endFile} {
		f, openErr := nolink.OpenFile(r.claim.Path(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		err = errors.Join(err, openErr)
		files = append(files, f)
	}
	return files, err
}

// awaitProcess waits for the end of a first process that is not this process's child,
// and of all other processes in its sandbox.
func (r *run) awaitProcess(ctx context.Context) error {
	if r.record.Container != "" {
		return r.awaitContainer(ctx)
	}
	if r.pidfd < 0 { // before Linux 5.3, or nobody's
		for until := time.Now().Add(executor.StuckTimeout); r.record.alive(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				return executor.ErrStuck
			}
		}
		return nil
	}
	list := []unix.PollFd{{Fd: int32(r.pidfd), Events: unix.POLLIN}}
	for until := time.Now().Add(executor.StuckTimeout); time.Now().Before(until); {
		n, err := unix.Poll(list, 1000)
		if n > 0 {
			return nil
		}
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
	}
	return executor.ErrStuck
}

// kill kills a first process, and with it all other processes in its sandbox.
func (r record) kill() error {
	if !r.alive() {
		return nil
	}
	fd, err := unix.PidfdOpen(r.PID, 0)
	switch {
	case err == unix.ENOSYS:
		fd = -1
		_ = unix.Kill(r.PID, unix.SIGKILL)
	case err != nil:
		return nil //nolint:nilerr // it has ended
	default:
		defer unix.Close(fd)
		if !r.alive() { // its PID may have been reused
			return nil
		}
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	if err := (&run{pidfd: fd, record: r}).awaitProcess(context.Background()); err != nil || r.Group == "" {
		return err
	}
	return (&group{dir: r.Group}).remove()
}

// Sweep removes the remains of dead processes. Commands that cannot be resumed are
// removed at once. The others are removed a day after their time limit or, if they have
// none, after their start. Images are removed after image.MaxAge without use.
// Anything that a live process holds stays.
func (e *Executor) Sweep(ctx context.Context) error { return e.sweep(ctx, false) }

// Purge is Sweep without waiting times.
func (e *Executor) Purge(ctx context.Context) error { return e.sweep(ctx, true) }

func (e *Executor) sweep(ctx context.Context, all bool) error {
	err := claim.SweepAll(filepath.Join(e.opts.Dir, "runs"), func(dir string) error { return e.sweepRun(ctx, dir, all) })
	if e.opts.Containers != nil {
		err = errors.Join(err, e.sweepContainers(ctx, all))
	}
	return errors.Join(err, e.sweepImages(all))
}

// sweepRun removes a run, unless it is held or can be resumed.
func (e *Executor) sweepRun(ctx context.Context, dir string, all bool) error {
	return claim.Sweep(dir, func() (stays bool, err error) {
		rec, err := loadRecord(dir)
		if err == nil && !all && rec.Waits() {
			_, ended := loadEnd(dir)
			alive, err := e.alive(ctx, rec)
			if ended || alive || err != nil {
				return true, err
			}
		}
		return false, e.kill(ctx, dir, rec)
	})
}

// kill kills the first process of a run, and with it all other processes in its sandbox.
func (e *Executor) kill(ctx context.Context, dir string, rec record) error {
	if e.opts.Containers != nil {
		return e.opts.Containers.Remove(ctx, filepath.Base(dir))
	}
	return rec.kill()
}

// sweepImages removes images that have not been used for long.
func (e *Executor) sweepImages(all bool) error {
	age := image.MaxAge
	if all {
		age = 0
	}
	return errors.Join(
		image.Sweep(e.programs.Dir, age, os.RemoveAll),
		image.Sweep(filepath.Join(e.opts.Dir, "images"), age, sweepImage))
}

// sweepImage removes an image that nothing uses.
func sweepImage(dir string) error {
	lock, err := nolink.Open(filepath.Join(dir, lockName))
	if err != nil {
		if strings.HasPrefix(filepath.Base(dir), ".work-") {
			_ = tree.Remove(dir)
		}
		return nil //nolint:nilerr // another process was faster, or it is a lock
	}
	defer lock.Close()
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	if err := os.Remove(filepath.Join(dir, configName)); err != nil { // processes that wait for the lock notice it
		return err
	}
	_ = tree.Remove(dir)
	return nil
}
