package containerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

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
