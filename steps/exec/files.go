package exec

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
)

// placeFiles copies the files into the empty folder dir.
func (c *command) placeFiles(ctx context.Context, env *step.Env, dir string) error {
	if len(c.args.Files) == 0 {
		return nil
	}
	ref, err := step.FilesTree(ctx, env.Store, c.args.Files)
	if err == nil {
		_, err = tree.Materialise(ctx, env.Store, ref, dir, tree.Options{Mode: tree.Copy, Writable: true})
	}
	return err
}

// placeInputs puts the inputs below dir and returns a watch over those that may
// share bytes with the store.
func (c *command) placeInputs(ctx context.Context, env *step.Env, dir string) (*inputWatch, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("prepare work folder: %w", err)
	}
	opts := tree.Options{Mode: tree.Link}
	if c.args.WritableInputs {
		opts = tree.Options{Mode: tree.Copy, Writable: true}
	}
	watch := &inputWatch{root: dir}
	for _, name := range slices.Sorted(maps.Keys(c.args.Inputs)) {
		ref := c.args.Inputs[name].Ref
		done, err := tree.Materialise(ctx, env.Store, ref, filepath.Join(dir, name), opts)
		if err != nil {
			return nil, fmt.Errorf("place input %q: %w", name, err)
		}
		if done.Linked == 0 {
			continue
		}
		if err := watch.add(ctx, env.Store, name, ref); err != nil {
			return nil, err
		}
	}
	return watch, nil
}

// inputWatch remembers the metadata of linked files.
type inputWatch struct {
	root  string
	files []watched
}

type watched struct {
	path string
	id   digest.ContentID
	// stamp changes whenever the file's bytes do. It also changes when the file is linked
	// elsewhere, so a changed stamp calls for verification but proves nothing.
	stamp digest.ContentID
}

func (w *inputWatch) add(ctx context.Context, store cache.Store, name string, ref cache.Ref) error {
	note := func(path string, id digest.ContentID) error {
		stamp, err := tree.Stamp(ctx, filepath.Join(w.root, path))
		w.files = append(w.files, watched{path, id, stamp})
		return err
	}
	if ref.Kind == cache.Blob {
		return note(name, ref.ID)
	}
	return tree.Walk(ctx, store, ref, func(path string, e tree.Entry) error {
		if e.IsDir() {
			return nil
		}
		return note(name+"/"+path, e.ID)
	})
}

// verify reads every object again whose file has changed metadata. The store sets
// damaged objects aside.
func (w *inputWatch) verify(ctx context.Context, store cache.Store) error {
	for _, f := range w.files {
		if now, err := tree.Stamp(ctx, filepath.Join(w.root, f.path)); err == nil && now == f.stamp {
			continue
		}
		err := reread(ctx, store, f.id)
		if errors.Is(err, cache.ErrCorrupt) || errors.Is(err, cache.ErrNotFound) {
			return fmt.Errorf("the command changed its input inputs/%s, which is shared with the cache; the damaged object was set aside, and "+
				"the step that made it must run again. Make the command write elsewhere, or set writable_inputs = true", f.path)
		}
		if err != nil {
			return fmt.Errorf("check input inputs/%s: %w", f.path, err)
		}
	}
	return nil
}

func reread(ctx context.Context, store cache.Store, id digest.ContentID) error {
	r, err := store.Open(ctx, id)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// Copies implements step.Copier.
func (c *command) Copies(context.Context, cache.Store) (list []step.Copy) {
	if !c.args.WritableInputs {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.args.Inputs)) {
		in := c.args.Inputs[name]
		ref := in.Ref
		if ref.Kind == cache.Blob {
			ref.Files = 1
		}
		list = append(list, step.Copy{Ref: ref, Name: in.Name(), Why: "a command asks for inputs that it may write to"})
	}
	return list
}

// collect stores the declared outputs as one tree.
func collect(ctx context.Context, env *step.Env, dir string, outputs []string) (cache.Ref, error) {
	var b tree.Builder
	for _, path := range outputs {
		ref, executable, err := store(ctx, env, dir, path)
		if err != nil {
			return cache.Ref{}, err
		}
		if err := b.Add(path, ref, executable); err != nil {
			return cache.Ref{}, err
		}
	}
	return b.Build(ctx, env.Store)
}

func store(ctx context.Context, env *step.Env, dir, path string) (cache.Ref, bool, error) {
	full := filepath.Join(dir, path)
	if err := noLinks(dir, path); err != nil {
		return cache.Ref{}, false, err
	}
	info, err := os.Lstat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cache.Ref{}, false, fmt.Errorf("the command succeeded but did not create the output %q%s", path, found(dir))
	case err != nil:
		return cache.Ref{}, false, fmt.Errorf("collect output %q: %w", path, err)
	case info.IsDir():
		ref, err := tree.Import(ctx, env.Store, full, tree.ImportOptions{
			Progress: func(files, bytes int64) {
				env.Progress(step.Progress{What: path, Done: files, Unit: "files", Bytes: bytes})
			},
		})
		return ref, false, err
	case !info.Mode().IsRegular():
		return cache.Ref{}, false, fmt.Errorf("output %q is neither a file nor a folder but %s", path, nolink.Kind(info.Mode()))
	}
	f, err := os.OpenFile(full, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return cache.Ref{}, false, fmt.Errorf("collect output %q: %w", path, err)
	}
	defer f.Close()
	ref, err := cache.Put(ctx, env.Store, f, cache.Ref{})
	return ref, info.Mode()&0o100 != 0, err
}

// noLinks rejects an output below a symbolic link.
func noLinks(dir, path string) error {
	for i, c := range path {
		if c != '/' {
			continue
		}
		if info, err := os.Lstat(filepath.Join(dir, path[:i])); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("output %q is below the symbolic link %q", path, path[:i])
		}
	}
	return nil
}

// found lists the files that the command created instead, for the error.
func found(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "inputs" && len(names) < 10 {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return "; its folder is empty"
	}
	return "; its folder contains " + strings.Join(names, ", ")
}

// shownBytes is the maximum size of a command's standard output in the log. The output
// stdout has all of it.
const shownBytes = 1 << 20

// shown copies standard output to the log, complete lines at a time, so that they do
// not mix with lines of standard error.
type shown struct {
	log   io.Writer
	limit *guest.Output
	lines io.Writer
	part  []byte
}

// Write implements io.Writer; it never fails.
func (s *shown) Write(p []byte) (int, error) {
	s.part = append(s.part, p...)
	if end := bytes.LastIndexByte(s.part, '\n') + 1; end > 0 || len(s.part) >= 64<<10 {
		end = cmp.Or(end, len(s.part))
		s.lines.Write(s.part[:end])
		s.part = append(s.part[:0], s.part[end:]...)
	}
	return len(p), nil
}

// end writes the rest and states how much the log omits.
func (s *shown) end() {
	if len(s.part) > 0 {
		s.lines.Write(append(s.part, '\n'))
		s.part = nil
	}
	if n := s.limit.Dropped(); n > 0 {
		fmt.Fprintf(s.log, "(%d more bytes of standard output are in the output stdout)\n", n)
	}
}
