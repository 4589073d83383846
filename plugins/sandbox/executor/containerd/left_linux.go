package containerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// left reports whether a dead process left a command under this ID that a Run
// with Resume would continue, be it running or at its end.
func (e *Executor) left(ctx context.Context, id string) (bool, error) {
	r := &run{e: e, spec: executor.Spec{ID: id, Resume: true}}
	rec, err := loadRecord(e.runDir(runName(r.spec)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for command %q: %w", id, err)
	case !rec.resumable():
		return false, nil
	}
	r.id = rec.Container
	if ctx, r.c, err = e.connect(ctx); err != nil {
		return false, err
	}
	found, err := r.load(ctx)
	if err != nil {
		return false, fmt.Errorf("look for command %q: %w", id, err)
	}
	return found, nil
}
