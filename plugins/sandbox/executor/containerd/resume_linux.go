package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/errdefs"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
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

// rejoin passes on the earlier and further output of the resumed command.
func (r *run) rejoin(_ context.Context, logs io.Writer) (err error) {
	r.follower, err = executor.Follow(r.claim.Path(outputFile), logs)
	return err
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
