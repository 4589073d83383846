package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// walk makes sure that all of a tree is in the local cache. missing is called for
// every absent object; it must fetch a directory before it returns. Without
// missing, the first absent object is cache.ErrNotFound.
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

// object checks one object and, if it is a directory, everything below it.
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
