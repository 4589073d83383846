package containerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

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
	held, err := claim.Take(dir)
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
