package image

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrDynamic means that a program needs shared libraries.
var ErrDynamic = errors.New("it is linked with libraries, which the image would lack; build it with CGO_ENABLED=0")

// CheckStatic returns ErrDynamic for a program that cannot be the only file in an
// image; see Static.
func CheckStatic(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return ErrDynamic
		}
	}
	return nil
}

// Programs are the images of static programs that this process has built. The zero
// value has none.
type Programs struct {
	mu    sync.Mutex
	paths map[[2]string]string
}

// Build returns the path of an image with one static program as /usr/bin/NAME. It builds
// the image in the folder unless this process has done so before.
func (p *Programs) Build(ctx context.Context, dir, program, name string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := [2]string{program, name}
	if path, ok := p.paths[key]; ok {
		return path, nil
	}
	if err := CheckStatic(program); err != nil {
		return "", fmt.Errorf("make image of %s: %w", program, err)
	}
	made, err := (&Builder{Dir: dir}).Build(ctx, Static(program, name), io.Discard)
	if err != nil {
		return "", fmt.Errorf("make image of %s: %w", program, err)
	}
	if p.paths == nil {
		p.paths = map[[2]string]string{}
	}
	p.paths[key] = made.Path
	return made.Path, nil
}
