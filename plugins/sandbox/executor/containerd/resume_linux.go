package containerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/errdefs"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

// find looks for the command that a dead process left under the run's ID. It removes
// one that cannot be continued.
func (r *run) find(ctx context.Context) (bool, error) {
	if !r.spec.Resume {
		return false, nil
	}
	rec, err := loadRecord(r.claim.Dir)
	if err == nil {
		r.id = rec.Container
	}
	if err == nil && rec.resumable() {
		found, err := r.load(ctx)
		if err != nil {
			return false, fmt.Errorf("resume command: %w", err)
		}
		if found {
			r.record, r.resumed = rec, true
			return true, nil
		}
	}
	if r.id != "" {
		if err := r.e.discard(ctx, r.c, r.id); err != nil {
			return false, fmt.Errorf("remove the remains of an earlier run: %w", err)
		}
		r.replaced = r.id
	}
	for _, name := range []string{recordFile, outputFile, endFile} {
		if err := os.Remove(r.claim.Path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
	}
	r.id, r.container, r.task, r.process, r.paused = "", nil, nil, nil, nil
	return false, nil
}

// load finds the container, its task and the command in it.
func (r *run) load(ctx context.Context) (found bool, err error) {
	if r.container, err = r.c.LoadContainer(ctx, r.id); err != nil {
		return missing(err)
	}
	if r.task, err = r.container.Task(ctx, nil); err != nil {
		return missing(err)
	}
	if r.process, err = r.task.LoadProcess(ctx, mainProcess, func(*cio.FIFOSet) (cio.IO, error) { return cio.NullIO("") }); err != nil {
		return missing(err)
	}
	if started, err := r.wasStarted(ctx); err != nil || !started {
		return missing(err)
	}
	if r.paused, err = awaitExit(ctx, r.task); err != nil {
		return missing(err)
	}
	r.exited, err = awaitExit(ctx, r.process)
	return err == nil, err
}

// startPatience is the time for a created command to be started, because the daemon may
// still be finishing the request of a dead process.
const startPatience = time.Second

func (r *run) wasStarted(ctx context.Context) (bool, error) {
	for until := time.Now().Add(startPatience); ; time.Sleep(20 * time.Millisecond) {
		status, err := r.process.Status(ctx)
		if err != nil || status.Status != client.Created {
			return err == nil, err
		}
		if time.Now().After(until) {
			return false, nil
		}
	}
}

// missing turns an error that means "not found" into false without an error.
func missing(err error) (bool, error) {
	if err == nil || errdefs.IsNotFound(err) {
		return false, nil
	}
	return false, err
}

// discard removes the container with that name, running or not, and its snapshot.
func (e *Executor) discard(ctx context.Context, c *client.Client, id string) error {
	container, err := c.LoadContainer(ctx, id)
	if errdefs.IsNotFound(err) {
		return e.discardSnapshot(ctx, c, id)
	}
	if err != nil {
		return fmt.Errorf("remove container: %w", err)
	}
	if err := endTask(ctx, container); err != nil {
		return fmt.Errorf("remove container: stop it: %w", err)
	}
	if err := container.Delete(ctx, client.WithSnapshotCleanup); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove container: %w", err)
	}
	return nil
}

// discardSnapshot removes a snapshot whose container was never created.
func (e *Executor) discardSnapshot(ctx context.Context, c *client.Client, id string) error {
	err := c.SnapshotService(e.opts.Snapshotter).Remove(ctx, id)
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove snapshot: %w", err)
	}
	return nil
}

var _ executor.Executor = (*Executor)(nil)

// killPatience is the time for which a task is killed again while it is reported as
// running.
const killPatience = time.Minute

// endTask kills everything in the container and removes its task. On a busy machine,
// the daemon stops waiting for the container's shim to report the end of a killed
// process, and then refuses to remove the task.
func endTask(ctx context.Context, container client.Container) error {
	for until := time.Now().Add(killPatience); ; {
		task, err := container.Task(ctx, nil)
		if err == nil {
			_, err = task.Delete(ctx, client.WithProcessKill)
		}
		switch {
		case err == nil, errdefs.IsNotFound(err):
			return nil
		case ctx.Err() != nil, errdefs.IsUnavailable(err), time.Now().After(until):
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// removeClaim removes a run's folder, including its views, and releases it.
func removeClaim(c *claim.Claim) error {
	if err := dropViews(c.Dir); err != nil {
		return errors.Join(err, c.Drop())
	}
	return c.Remove()
}

// record is the information about a run that a later process needs.
type record struct {
	claim.Run
	Resume   bool  `json:"resume,omitempty"`
	LogBytes int64 `json:"log_bytes,omitempty"`
	// Socket, Namespace and Container identify the container.
	Socket    string `json:"socket"`
	Namespace string `json:"namespace"`
	Container string `json:"container"`
	// Ports are the ports of the services, in order.
	Ports []int `json:"ports,omitempty"`
}

// resumable reports whether the command was started during the current boot of the
// machine.
func (r record) resumable() bool { return r.ThisBoot() && !r.Started.IsZero() }

const recordFile = "run.json"

func loadRecord(dir string) (record, error) {
	return claim.Load[record](filepath.Join(dir, recordFile))
}

// left reports whether a dead process left a command under this ID that a Run with
// Resume would continue, whether it still runs or has ended. Otherwise it removes the
// container: the daemon may still be starting it, and the folders that it has mounted
// are removed next.
func (e *Executor) left(ctx context.Context, id string) (found bool, err error) {
	r := &run{e: e, spec: executor.Spec{ID: id, Resume: true}}
	dir := e.runDir(runName(r.spec))
	rec, err := loadRecord(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for command %q: %w", id, err)
	}
	if ctx, r.c, err = e.connect(ctx); err != nil {
		return false, err
	}
	held, err := claim.Await(ctx, dir)
	if err == nil {
		defer func() { err = errors.Join(err, held.Drop()) }()
		r.id = rec.Container
		if rec.resumable() {
			found, err = r.load(ctx)
		}
		if err == nil && !found {
			err = e.discard(ctx, r.c, r.id)
		}
	}
	if err != nil {
		return false, fmt.Errorf("look for command %q: %w", id, err)
	}
	return found, nil
}

// end stops and removes the command that a dead process left under this ID.
func (e *Executor) end(ctx context.Context, id string) error {
	ctx, c, err := e.connect(ctx)
	if err != nil {
		return err
	}
	runs, err := e.runs(ctx, c)
	if err != nil {
		return err
	}
	dir := e.runDir(runName(executor.Spec{ID: id, Resume: true}))
	return e.sweepRun(ctx, c, dir, runs[dir], true)
}
