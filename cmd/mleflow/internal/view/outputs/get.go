package outputs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/publish"
	"github.com/mleflow/mleflow/engine/step"
)

// Source is the place from which results are taken.
type Source struct {
	Store cache.Files
	Index cache.Index
	// Run is the run that gave them.
	Run *history.Summary
	// Kinds say which outputs may hold answers. Get needs them.
	Kinds *step.Registry
}

// Options select how files are written.
type Options struct {
	// Link makes read-only hard links into the cache instead of copies.
	Link bool
	// Work, if set, counts the files and bytes that are written.
	Work *progress.Work
	// private makes what only its owner can read.
	private bool
}

func (o Options) tree() tree.Options {
	out := tree.Options{Mode: tree.Copy, Writable: true, OwnerOnly: o.private, Progress: tree.Count(o.Work)}
	if o.Link {
		out.Mode, out.Writable = tree.Link, false
	}
	return out
}

// ErrNone says that a run has no such result.
var ErrNone = errors.New("no such result")

// Record returns the outputs of a step of the run.
func (s *Source) Record(ctx context.Context, address string) (*cache.Record, error) {
	st := s.Run.Step(address)
	switch {
	case st == nil:
		return nil, fmt.Errorf("%w: run %s has no step %s; mleflow show %s -v lists its steps", ErrNone, s.Run.ID, address, s.Run.ID)
	case st.Action == "":
		return nil, fmt.Errorf("%w: %s has no outputs in run %s", ErrNone, address, s.Run.ID)
	}
	rec, err := Lookup(ctx, s.Index, st.Action)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, fmt.Errorf("%w: the outputs of %s are no longer in the cache; apply makes them again", ErrNone, address)
	}
	return rec, err
}

// Get writes outputs of a step below dir, each under its name, and returns
// the paths. Without a name it writes all. Only their owner can read those that may hold
// answers.
func (s *Source) Get(ctx context.Context, address, output, dir string, opts Options) ([]string, error) {
	rec, err := s.Record(ctx, address)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(rec.Outputs))
	if output != "" {
		if _, ok := rec.Outputs[output]; !ok {
			return nil, fmt.Errorf("%w: %s has no output %q; it has %s", ErrNone, address, output, strings.Join(names, ", "))
		}
		names = []string{output}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	files, bytes := rec.Outputs.Content(names...)
	opts.Work.Begin("", files, bytes)
	var paths []string
	for _, name := range names {
		opts.private = s.Kinds.Kind(rec.Kind).MayHide(name)
		path, err := s.write(ctx, rec.Outputs[name], filepath.Join(dir, name), opts)
		if err != nil {
			return paths, fmt.Errorf("get %s of %s: %w", name, address, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// write writes an output to path, with a suffix for its format.
func (s *Source) write(ctx context.Context, v cache.Value, path string, opts Options) (string, error) {
	if v.Ref.Kind == cache.Tree {
		return path, s.copyTo(ctx, v.Ref, path, opts)
	}
	if v.Ref.IsZero() {
		text, err := publish.JSON(v.JSON)
		if err != nil {
			return "", err
		}
		return path + ".json", writeNew(path+".json", text, cache.Placement{Writable: true, OwnerOnly: opts.private}.FileMode())
	}
	suffix, err := publish.Suffix(ctx, s.Store, v.Ref)
	if err != nil {
		return "", err
	}
	return path + suffix, s.copyTo(ctx, v.Ref, path+suffix, opts)
}

// copyTo writes content to a path where nothing is, with the folder that it is in.
func (s *Source) copyTo(ctx context.Context, ref cache.Ref, path string, opts Options) error {
	if _, err := os.Lstat(path); err == nil {
		return exists(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	_, err := tree.Materialise(ctx, s.Store, ref, path, opts.tree())
	return err
}

func writeNew(path string, text []byte, mode fs.FileMode) error {
	err := wholefile.Create(path, mode, wholefile.Bytes(text))
	if errors.Is(err, os.ErrExist) {
		return exists(path)
	}
	return err
}

func exists(path string) error {
	return fmt.Errorf("%s already exists; choose another folder with -o, or remove it", path)
}
