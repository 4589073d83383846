package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// programs are the images of programs that this process has built.
type programs struct {
	sync.Mutex
	images map[[2]string]string
}

// ProgramImage builds an image of one static program; see executor.Runtime. It is kept
// by the digest of the program until Sweep finds it unused.
func (e *Executor) ProgramImage(ctx context.Context, program, name string) (string, error) {
	e.made.Lock()
	defer e.made.Unlock()
	key := [2]string{program, name}
	if made, ok := e.made.images[key]; ok {
		return made, touch(made)
	}
	made, err := e.programImage(ctx, program, name)
	if err != nil {
		return "", fmt.Errorf("make image of %s: %w", program, err)
	}
	if e.made.images == nil {
		e.made.images = map[[2]string]string{}
	}
	e.made.images[key] = made
	return made, nil
}

func (e *Executor) programImage(ctx context.Context, program, name string) (string, error) {
	if err := image.CheckStatic(program); err != nil {
		return "", err
	}
	made, err := (&image.Builder{Dir: e.programDir()}).Build(ctx, image.Static(program, name), io.Discard)
	if err != nil {
		return "", err
	}
	return made.Path, touch(made.Path)
}

func (e *Executor) programDir() string { return filepath.Join(e.opts.StateDir, "images") }

// touch records the use of the image.
func touch(made string) error {
	now := time.Now()
	return os.Chtimes(made, now, now)
}

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
