package containerd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// ProgramImage builds an image of one static program; see executor.Runtime. It is kept
// by the digest of the program until Sweep finds it unused.
func (e *Executor) ProgramImage(ctx context.Context, program, name string) (string, error) {
	made, err := e.made.Build(ctx, e.programDir(), program, name)
	if err != nil {
		return "", err
	}
	now := time.Now()
	return made, os.Chtimes(made, now, now) // records its use
}

func (e *Executor) programDir() string { return filepath.Join(e.opts.StateDir, "images") }

// sweepPrograms removes images of programs that have not been used for long.
func (e *Executor) sweepPrograms(all bool) error {
	entries, err := os.ReadDir(e.programDir())
	if err != nil {
		return nil //nolint:nilerr // there are no images
	}
	var errs []error
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && (all || time.Since(info.ModTime()) > e.opts.ImageAge) {
			errs = append(errs, os.RemoveAll(filepath.Join(e.programDir(), entry.Name())))
		}
	}
	return errors.Join(errs...)
}
