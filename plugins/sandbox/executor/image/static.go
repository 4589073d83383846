package image

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
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
	if path, ok := p.paths[key]; ok && touch(path) == nil {
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
	return made.Path, touch(made.Path)
}

// touch records the use of an image.
func touch(path string) error {
	now := time.Now()
	return os.Chtimes(path, now, now)
}

// workAge is the age at which unfinished work counts as abandoned.
const workAge = 24 * time.Hour

// Sweep calls remove for the images in a folder that have not been used for longer than age,
// and for what abandoned work left there.
func Sweep(dir string, age time.Duration, remove func(path string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // there are no images
	}
	var errs []error
	for _, e := range entries {
		most := age
		if strings.HasPrefix(e.Name(), ".work-") {
			most = workAge
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > most {
			errs = append(errs, remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
