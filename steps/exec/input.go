package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
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
