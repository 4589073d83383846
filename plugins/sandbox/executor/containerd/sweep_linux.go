package containerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// Sweep removes the remains of dead processes from the machine. Commands that cannot be
// resumed are removed at once. The others are removed a day after their time limit, at
// which the log's keeper stopped them, or after their start if they have no limit. If
// the machine has been rebooted, all are removed. Volumes are treated likewise. Images
// are removed after image.MaxAge without use. Anything that a live process holds
// stays.
func (e *Executor) Sweep(ctx context.Context) error { return e.sweep(ctx, false) }

// Purge is Sweep without waiting times: it removes everything that no live process
// holds, including images.
func (e *Executor) Purge(ctx context.Context) error { return e.sweep(ctx, true) }

func (e *Executor) sweep(ctx context.Context, all bool) error {
	ctx, c, err := e.connect(ctx)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	runs, err := e.runs(ctx, c)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	var errs []error
	for _, dir := range slices.Sorted(maps.Keys(runs)) {
		if err := e.sweepRun(ctx, c, dir, runs[dir], all); err != nil {
			errs = append(errs, fmt.Errorf("sweep %s: %w", dir, err))
		}
	}
	errs = append(errs, e.sweepTasks(ctx, c), e.sweepShims(ctx, c), e.sweepLeases(ctx, c), claim.SweepAll(filepath.Join(e.opts.StateDir, "volumes"), func(dir string) error { return sweepVolume(dir, all) }), e.freeUsers(), e.sweepImages(ctx, c, all))
	return errors.Join(errs...)
}

// runs returns the folders of all runs that left a folder, a container or a snapshot,
// with the names of their containers.
func (e *Executor) runs(ctx context.Context, c *client.Client) (map[string][]string, error) {
	runs := map[string][]string{}
	dirs, err := filepath.Glob(filepath.Join(e.opts.StateDir, "runs", "*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		runs[dir] = nil
	}
	containers, err := c.ContainerService().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	for _, ct := range containers {
		if dir := ct.Labels[labelState]; dir != "" {
			runs[dir] = append(runs[dir], ct.ID)
		}
	}
	left, err := e.snapshots(ctx, c)
	if err != nil {
		return nil, err
	}
	for id, dir := range left {
		if !slices.Contains(runs[dir], id) {
			runs[dir] = append(runs[dir], id)
		}
	}
	return runs, nil
}

// snapshots returns the writable snapshots of runs, with the runs' folders.
func (e *Executor) snapshots(ctx context.Context, c *client.Client, filters ...string) (map[string]string, error) {
	found := map[string]string{}
	err := c.SnapshotService(e.opts.Snapshotter).Walk(ctx, func(_ context.Context, info snapshots.Info) error {
		if dir := info.Labels[labelState]; dir != "" {
			found[info.Name] = dir
		}
		return nil
	}, filters...)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	return found, nil
}

// sweepRun removes the containers and the folder of a run, unless it is held or can be
// resumed.
func (e *Executor) sweepRun(ctx context.Context, c *client.Client, dir string, ids []string, all bool) error {
	return claim.Sweep(dir, func() (stays bool, err error) {
		rec, err := loadRecord(dir)
		if err == nil && rec.Socket != e.opts.Socket {
			return true, nil // it belongs to another daemon
		}
		waits := err == nil && !all && rec.Resume && rec.Waits() && slices.Contains(ids, rec.Container)
		for _, id := range ids {
			if waits && id == rec.Container {
				continue
			}
			if err := e.discard(ctx, c, id); err != nil {
				return true, err
			}
		}
		if waits {
			return true, nil
		}
		return false, dropViews(dir)
	})
}

// sweepTasks removes tasks without a container. The daemon created them for dead
// processes after the containers had been swept away.
func (e *Executor) sweepTasks(ctx context.Context, c *client.Client) error {
	list, err := c.TaskService().List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		return fmt.Errorf("sweep tasks: %w", errgrpc.ToNative(err))
	}
	for _, task := range list.Tasks {
		_, err := c.ContainerService().Get(ctx, task.ID)
		if err == nil || !errdefs.IsNotFound(err) || !strings.HasPrefix(task.ID, "mleflow-") {
			continue
		}
		_, _ = c.TaskService().Kill(ctx, &tasks.KillRequest{ContainerID: task.ID, Signal: uint32(syscall.SIGKILL), All: true})
		_, _ = c.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: task.ID})
	}
	return nil
}

// sweepLeases ends the leases of dead processes.
func (e *Executor) sweepLeases(ctx context.Context, c *client.Client) error {
	list, err := c.LeasesService().List(ctx)
	if err != nil {
		return fmt.Errorf("sweep leases: %w", err)
	}
	var errs []error
	for _, l := range list {
		if !claim.Ended(l.Labels[labelOwner]) {
			continue
		}
		if err := c.LeasesService().Delete(ctx, l); err != nil && !errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("sweep lease %s: %w", l.ID, err))
		}
	}
	return errors.Join(errs...)
}

// sweepVolume removes a volume that is not held and that nobody will take over.
func sweepVolume(dir string, all bool) error {
	return claim.Sweep(dir, func() (stays bool, err error) {
		rec, err := loadVolume(dir)
		switch {
		case err == nil && !all && rec.Boot == claim.BootID() && time.Now().Before(rec.Until):
			return true, nil
		case err == nil:
			err = rec.remove()
		}
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return false, err
	})
}

// sweepImages removes images that only the runtime uses and has not used for long.
// Layers are removed with the last image that contains them.
func (e *Executor) sweepImages(ctx context.Context, c *client.Client, all bool) error {
	list, err := c.ImageService().List(ctx)
	if err != nil {
		return fmt.Errorf("sweep images: %w", err)
	}
	users, err := c.ContainerService().List(ctx)
	if err != nil {
		return fmt.Errorf("sweep images: %w", err)
	}
	age := image.MaxAge
	if all {
		age = 0
	}
	errs := []error{image.Sweep(e.programs.Dir, age, os.RemoveAll)}
	for _, img := range list {
		used, err := time.Parse(time.RFC3339, img.Labels[labelUsed])
		if err != nil || time.Since(used) < age {
			continue
		}
		if slices.ContainsFunc(users, func(ct containers.Container) bool { return ct.Image == img.Name }) {
			continue
		}
		if err := c.ImageService().Delete(ctx, img.Name, images.SynchronousDelete()); err != nil && !errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("sweep image %s: %w", img.Name, err))
		}
	}
	return errors.Join(errs...)
}

// runcRoot is the folder in which containerd's shim keeps runc's state, by namespace.
const runcRoot = "/run/containerd/runc"

// shim is a process of containerd that supervises one container.
type shim struct {
	pid int
	id  string
}

// shims returns the shims of the runtime's daemon and namespace.
func (e *Executor) shims() []shim {
	var list []shim
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("containerd-shim")) {
			continue
		}
		args := strings.Split(string(text), "\x00")
		id := after(args, "-id")
		if after(args, "-namespace") != e.opts.Namespace || after(args, "-address") != e.opts.Socket || !strings.HasPrefix(id, namePrefix) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			list = append(list, shim{pid, id})
		}
	}
	return list
}

// after returns the argument after a flag.
func after(args []string, flag string) string {
	for i, a := range args[:max(len(args)-1, 0)] {
		if a == flag {
			return args[i+1]
		}
	}
	return ""
}

// sweepShims ends the shims whose container is gone. The daemon leaves such a shim,
// with a half-created container below it, when the process that requested a task is
// killed in the middle.
func (e *Executor) sweepShims(ctx context.Context, c *client.Client) error {
	var errs []error
	for _, s := range e.shims() {
		_, err := c.ContainerService().Get(ctx, s.id)
		if !errdefs.IsNotFound(err) || len(s.id) < nameLength {
			continue
		}
		dir := e.runDir(s.id[:nameLength])
		errs = append(errs, claim.Sweep(dir, func() (stays bool, err error) {
			_, old := loadRecord(dir)
			stays = old == nil // it has a newer container
			if err = s.remove(ctx, e.opts.Namespace); !stays {
				err = errors.Join(err, dropViews(dir))
			}
			return stays, err
		}))
	}
	return errors.Join(errs...)
}

// endShim ends the shim of a container that was removed.
func (e *Executor) endShim(ctx context.Context, id string) error {
	var errs []error
	for _, s := range e.shims() {
		if s.id == id {
			errs = append(errs, s.remove(ctx, e.opts.Namespace))
		}
	}
	return errors.Join(errs...)
}

// remove ends the shim and the processes below it, and frees its folder.
func (s shim) remove(ctx context.Context, namespace string) error {
	bundle, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", s.pid))
	if err != nil {
		return nil // it has ended
	}
	below, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.pid, s.pid))
	for _, text := range append(strings.Fields(string(below)), strconv.Itoa(s.pid)) {
		if pid, err := strconv.Atoi(text); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	root := filepath.Join(runcRoot, namespace)
	if _, err := os.Stat(filepath.Join(root, s.id)); err == nil {
		_ = exec.CommandContext(ctx, "runc", "--root", root, "delete", "--force", s.id).Run()
	}
	if filepath.Base(bundle) != s.id {
		return nil // it is removed already
	}
	_ = unix.Unmount(filepath.Join(bundle, "rootfs"), unix.MNT_DETACH)
	err = os.RemoveAll(bundle)
	// The shim writes its last files there while it is being killed, and so does the
	// daemon, which cleans up after a dead shim.
	for end := time.Now().Add(10 * time.Second); errors.Is(err, unix.ENOTEMPTY) && ctx.Err() == nil && time.Now().Before(end); err = os.RemoveAll(bundle) {
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("sweep shim of %s: %w", s.id, err)
	}
	return nil
}
