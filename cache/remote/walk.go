package remote

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// walk makes sure that everything of a tree is here. missing is called for what
// is not; for a directory it must have brought it when it returns. Without it
// the first thing that lacks is cache.ErrNotFound.
func (t *Tier) walk(ctx context.Context, root cache.Ref, missing func(cache.Ref) error) error {
	w := walker{t: t, missing: missing, seen: make(map[digest.ContentID]bool)}
	return w.object(ctx, root)
}

type walker struct {
	t       *Tier
	missing func(cache.Ref) error
	// seen are the directories that were walked.
	seen map[digest.ContentID]bool
}

// object looks after one object and, if it is a directory, what is below it.
func (w *walker) object(ctx context.Context, ref cache.Ref) error {
	if ref.Kind == cache.Tree && w.seen[ref.ID] {
		return nil
	}
	size, err := w.t.Cache.Has(ctx, ref.ID)
	if errors.Is(err, cache.ErrNotFound) && w.missing != nil {
		if err := w.missing(ref); err != nil || ref.Kind != cache.Tree {
			return err
		}
		err = nil
	}
	if err != nil {
		return err
	}
	if ref.Kind != cache.Tree {
		if size != ref.Size {
			return fmt.Errorf("object %s: %w: it has %d bytes, not %d", ref.ID.Short(), cache.ErrCorrupt, size, ref.Size)
		}
		return nil
	}
	w.seen[ref.ID] = true
	return eachEntry(ctx, w.t.Cache, ref, func(e tree.Entry) error { return w.object(ctx, e.Ref()) })
}

// eachEntry calls fn for every entry of one directory.
func eachEntry(ctx context.Context, store cache.Store, ref cache.Ref, fn func(tree.Entry) error) error {
	r, err := tree.Open(ctx, store, ref)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}
