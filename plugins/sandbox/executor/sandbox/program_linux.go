package sandbox

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// programs are the images of programs that this process has built.
type programs struct {
	sync.Mutex
	images map[[2]string]string
}

// ProgramImage builds an image of one static program; see executor.Runtime.
func (e *Executor) ProgramImage(ctx context.Context, program, name string) (string, error) {
	e.made.Lock()
	defer e.made.Unlock()
	key := [2]string{program, name}
	if made, ok := e.made.images[key]; ok {
		return made, nil
	}
	if err := image.CheckStatic(program); err != nil {
		return "", fmt.Errorf("make image of %s: %w", program, err)
	}
	made, err := (&image.Builder{Dir: filepath.Join(e.opts.Dir, "programs")}).Build(ctx, image.Static(program, name), io.Discard)
	if err != nil {
		return "", fmt.Errorf("make image of %s: %w", program, err)
	}
	if e.made.images == nil {
		e.made.images = map[[2]string]string{}
	}
	e.made.images[key] = made.Path
	return made.Path, nil
}
