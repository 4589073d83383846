package disk

import (
	"context"
	"errors"
	"io"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk/index"
	"github.com/mleflow/mleflow/cache/tree"
)

// readTree calls fn for the entries of a tree without verifying its digest.
func (c *objects) readTree(id digest.ContentID, fn func(tree.Entry) error) error {
	f, err := c.openObject(id, false)
	if err != nil {
		return c.objectError("open", id, err)
	}
	defer f.Close()
	d := tree.NewDecoder(f)
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return c.objectError("read", id, err)
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// breakage finds references that lead to broken objects. It remembers the
// result for each tree.
type breakage struct {
	c *objects
	// broken reports whether an object itself is broken.
	broken func(digest.ContentID) bool
	trees  map[digest.ContentID]bool
}

// leads reports whether ref, or anything below it, is broken.
func (b *breakage) leads(ctx context.Context, ref cache.Ref) (bool, error) {
	if b.broken(ref.ID) {
		return true, nil
	}
	if ref.Kind != cache.Tree {
		return false, nil
	}
	if answer, ok := b.trees[ref.ID]; ok {
		return answer, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	answer, err := b.below(ctx, ref.ID)
	if err == nil {
		b.trees[ref.ID] = answer
	}
	return answer, err
}

func (b *breakage) below(ctx context.Context, id digest.ContentID) (bool, error) {
	found := false
	err := b.c.readTree(id, func(e tree.Entry) error {
		broken, err := b.leads(ctx, e.Ref())
		if broken {
			found = true
			return io.EOF
		}
		return err
	})
	switch {
	case found, errors.Is(err, cache.ErrNotFound), errors.Is(err, tree.ErrInvalid):
		return true, nil
	}
	return false, err
}

// missing reports whether an object is not there.
func (c *objects) missing(id digest.ContentID) bool {
	_, err := c.stat(id, false)
	return err != nil
}

// dropBroken drops every record that leads to a broken object.
func (c *records) dropBroken(ctx context.Context, broken func(digest.ContentID) bool) error {
	b := &breakage{c: c.objects, broken: broken, trees: make(map[digest.ContentID]bool)}
	chosen := make(map[digest.ActionID]int64)
	err := c.eachRecord(ctx, func(rec *cache.Record, e index.Entry) error {
		broken, err := b.record(ctx, rec)
		if broken {
			chosen[rec.Action] = e.At
		}
		return err
	})
	if err != nil || len(chosen) == 0 {
		return err
	}
	_, err = c.index.Drop(chosen, "corrupt")
	return err
}

// record reports whether a record leads to a broken object.
func (b *breakage) record(ctx context.Context, rec *cache.Record) (bool, error) {
	for _, v := range rec.Outputs {
		if v.Ref.IsZero() {
			continue
		}
		if broken, err := b.leads(ctx, v.Ref); broken || err != nil {
			return broken, err
		}
	}
	return false, nil
}
