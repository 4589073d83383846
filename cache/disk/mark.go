package disk

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// marks counts the references to every object.
type marks struct {
	c   *objects
	ctx context.Context
	// blobs counts references by the first eight bytes of the digest, which keeps
	// ten million of them small. Blobs that share these bytes are only kept
	// longer.
	blobs map[uint64]int32
	trees map[digest.ContentID]int32
	// broken are trees that could not be read when they were first marked, so that
	// nothing below them is marked.
	broken map[digest.ContentID]bool
}

func newMarks(ctx context.Context, c *objects) *marks {
	return &marks{
		c: c, ctx: ctx, blobs: make(map[uint64]int32),
		trees: make(map[digest.ContentID]int32), broken: make(map[digest.ContentID]bool),
	}
}

func blobKey(id digest.ContentID) uint64 { return binary.LittleEndian.Uint64(id[:]) }

// marked reports whether anything refers to the object.
func (m *marks) marked(id digest.ContentID) bool { return m.blobs[blobKey(id)] > 0 || m.trees[id] > 0 }

// add counts a reference and, if it is the first, the references below it.
func (m *marks) add(ref cache.Ref) error {
	if ref.Kind != cache.Tree {
		m.blobs[blobKey(ref.ID)]++
		return nil
	}
	m.trees[ref.ID]++
	if m.trees[ref.ID] > 1 {
		return nil
	}
	if err := m.ctx.Err(); err != nil {
		return err
	}
	// The entries are read before they are counted, so that a tree is counted
	// completely or not at all.
	below, err := m.below(ref.ID)
	if err != nil {
		return err
	}
	for _, key := range below.blobs {
		m.blobs[key]++
	}
	for _, id := range below.trees {
		if err := m.add(cache.Ref{Kind: cache.Tree, ID: id}); err != nil {
			return err
		}
	}
	return nil
}

// below holds the references of a tree, compact enough for folders with millions of
// files.
type below struct {
	blobs []uint64
	trees []digest.ContentID
}

// below returns the references of a tree. An unusable tree has none; reading it
// will report the error.
func (m *marks) below(id digest.ContentID) (b below, err error) {
	err = m.each(id, func(e tree.Entry) error {
		if e.IsDir() {
			b.trees = append(b.trees, e.ID)
		} else {
			b.blobs = append(b.blobs, blobKey(e.ID))
		}
		return nil
	})
	if m.broken[id] {
		return below{}, nil
	}
	return b, err
}

// each calls fn for the entries of a tree, and notes one that is broken.
func (m *marks) each(id digest.ContentID, fn func(tree.Entry) error) error {
	if m.broken[id] {
		return nil
	}
	err := m.c.readTree(id, fn)
	if errors.Is(err, cache.ErrNotFound) || errors.Is(err, tree.ErrInvalid) {
		m.broken[id] = true
		return nil
	}
	return err
}

// remove removes a reference and calls free for every object that nothing
// refers to any more.
func (m *marks) remove(ref cache.Ref, free func(digest.ContentID) error) error {
	if ref.Kind != cache.Tree {
		key := blobKey(ref.ID)
		m.blobs[key]--
		if m.blobs[key] > 0 {
			return nil
		}
		delete(m.blobs, key)
		return m.free(ref.ID, free)
	}
	m.trees[ref.ID]--
	if m.trees[ref.ID] > 0 {
		return nil
	}
	delete(m.trees, ref.ID)
	if err := m.each(ref.ID, func(e tree.Entry) error { return m.remove(e.Ref(), free) }); err != nil {
		return err
	}
	return m.free(ref.ID, free)
}

func (m *marks) free(id digest.ContentID, free func(digest.ContentID) error) error {
	if m.marked(id) {
		return nil // as the other kind of object
	}
	return free(id)
}

// outputs calls fn for the content that a record names.
func outputs(rec *cache.Record, fn func(cache.Ref) error) error {
	for _, v := range rec.Outputs { // counting is the same in any order
		if v.Ref.IsZero() {
			continue
		}
		if err := fn(v.Ref); err != nil {
			return err
		}
	}
	return nil
}
