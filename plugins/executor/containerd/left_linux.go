package containerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mleflow/mleflow/plugins/executor"
)

// Left reports whether a dead process left a command under this ID that a Run
// with Resume would continue, be it running or at its end.
func (e *Executor) Left(ctx context.Context, id string) (bool, error) {
	r := &run{e: e, spec: executor.Spec{ID: id, Resume: true}}
	r.id = containerID(r.spec)
	rec, err := loadRecord(e.runDir(r.id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for command %q: %w", id, err)
	case rec.Boot != bootID() || rec.Container != r.id:
		return false, nil
	}
	if ctx, r.c, err = e.connect(ctx); err != nil {
		return false, err
	}
	found, err := r.load(ctx)
	if err != nil {
		return false, fmt.Errorf("look for command %q: %w", id, err)
	}
	return found, nil
}
