package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// walk makes sure that everything of a tree is here. missing is called for what
// is not; for a directory it must have brought it when it returns. Without it
// the first thing that lacks is cache.ErrNotFound.
func (t *link) walk(ctx context.Context, root cache.Ref, missing func(cache.Ref) error) error {
	w := walker{t: t, missing: missing, seen: make(map[digest.ContentID]bool)}
	return w.object(ctx, root)
}

type walker struct {
	t       *link
	missing func(cache.Ref) error
	// seen are the directories that were walked.
	seen map[digest.ContentID]bool
}

// object looks after one object and, if it is a directory, what is below it.
func (w *walker) object(ctx context.Context, ref cache.Ref) error {
	if ref.Kind == cache.Tree && w.seen[ref.ID] {
		return nil
	}
	size, err := w.t.local.Has(ctx, ref.ID)
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
	return tree.Each(ctx, w.t.local, ref, func(e tree.Entry) error { return w.object(ctx, e.Ref()) })
}
