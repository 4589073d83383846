package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/tree"
)

// Content next to the path, in hidden files or folders:
const (
	// unfinished is being written. It may be removed at any time.
	unfinished = ".mleflow"
	// moving is complete: new content before the exchange, and what was at the path
	// after it.
	moving = ".mleflow-old"
	// aside is what was at the path, during an exchange in steps.
	aside = ".mleflow-aside"
)

func (t *Target) beside(suffix string) string {
	return filepath.Join(filepath.Dir(t.Path), "."+filepath.Base(t.Path)+suffix)
}

// ForeignError means that a path has content that mleflow did not write.
type ForeignError struct {
	Path string
	// Earlier, if set, is where other content of the path is that mleflow did not
	// write: somebody changed the path twice while it was replaced.
	Earlier string
}

func (e *ForeignError) Error() string {
	text := fmt.Sprintf("%s exists and is not what mleflow last published: something else wrote or changed it, so it is not replaced. Move it, remove it, or publish to another path", e.Path)
	if e.Earlier != "" {
		text += fmt.Sprintf(". What it was before that is not mleflow's either: it is at %s. Move that, too", e.Earlier)
	}
	return text
}

// run makes changes in order until one fails. Tests let it fail before any of them.
func (p *Places) run(changes ...func() error) error {
	for _, change := range changes {
		if p.before != nil {
			if err := p.before(); err != nil {
				return err
			}
		}
		if err := change(); err != nil {
			return err
		}
	}
	return nil
}

// move moves what is complete to the path of t. Content whose digest is in ours is
// mleflow's.
func (p *Places) move(ctx context.Context, t Target, ours []string, replace bool) (err error) {
	from, to := t.beside(unfinished), t.beside(moving)
	if replace {
		if err = p.run(func() error { return os.Rename(from, to) }); err == nil {
			err = p.swap(to, t.Path, t.beside(aside))
		}
		from = to
	}
	if !replace || errors.Is(err, fs.ErrNotExist) { // or somebody removed what was there
		err = p.run(func() error { return wholefile.Move(from, t.Path) })
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
		err = &ForeignError{Path: t.Path}
	}
	return errors.Join(err, p.release(ctx, t, moving, aside, ours))
}

// release removes content next to the path if it is mleflow's. Anything else was taken
// from the path while somebody changed it, and goes back there.
func (p *Places) release(ctx context.Context, t Target, name, other string, ours []string) error {
	at := t.beside(name)
	if _, err := os.Lstat(at); err != nil {
		return nil //nolint:nilerr // nothing is there
	}
	have, err := identify(ctx, at)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx) // the next Put does it
	case errors.Is(err, errNothing) || slices.Contains(ours, have):
		return p.run(func() error { return tree.Remove(at) })
	}
	now, err := identify(ctx, t.Path)
	switch {
	case errors.Is(err, errNothing):
		err = p.run(func() error { return wholefile.Move(at, t.Path) })
	case !slices.Contains(ours, now):
		return &ForeignError{Path: t.Path, Earlier: at}
	default:
		if err = p.swap(at, t.Path, t.beside(other)); err == nil {
			err = p.release(ctx, t, name, other, ours)
		}
	}
	if err == nil {
		err = &ForeignError{Path: t.Path}
	}
	return err
}

// recover cleans up after a killed process.
func (p *Places) recover(ctx context.Context, t Target, ours []string) error {
	err := p.run(func() error { return tree.Remove(t.beside(unfinished)) })
	if err == nil {
		err = p.release(ctx, t, aside, moving, ours)
	}
	if err == nil {
		err = p.release(ctx, t, moving, aside, ours)
	}
	return err
}

// swap exchanges two files or folders. File systems that cannot do that at once take
// three steps by way of a free path. If the process is killed in between, the path may be
// empty until the next Put.
func (p *Places) swap(a, b, free string) error {
	if !p.inSteps {
		err := p.run(func() error { return exchange(a, b) })
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	if err := p.run(func() error { return wholefile.Move(b, free) }); err != nil {
		return err
	}
	if err := p.run(func() error { return wholefile.Move(a, b) }); err != nil {
		return errors.Join(err, p.run(func() error { return wholefile.Move(free, b) }))
	}
	return p.run(func() error { return wholefile.Move(free, a) })
}
