package containerd

import (
	"context"
	"path/filepath"
)

// ProgramImage builds an image of one static program; see executor.Runtime. It is kept
// by the digest of the program until Sweep finds it unused.
func (e *Executor) ProgramImage(ctx context.Context, program, name string) (string, error) {
	return e.made.Build(ctx, e.programDir(), program, name)
}

func (e *Executor) programDir() string { return filepath.Join(e.opts.StateDir, "images") }
