package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk/index"
	"github.com/mleflow/mleflow/cache/leaf/lists"
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
	return lists.Each(below.trees, func(id digest.ContentID) error { return m.add(cache.Ref{Kind: cache.Tree, ID: id}) })
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
	for ref := range rec.Outputs.Refs() { // counting is the same in any order
		if err := fn(ref); err != nil {
			return err
		}
	}
	return nil
}

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

// dropBroken drops the records, of those that pick chooses, which lead to a broken object.
// It calls found, if set, for each of those, with whether it does.
func (c *records) dropBroken(ctx context.Context, broken func(digest.ContentID) bool, pick func(index.Entry) bool, found func(*cache.Record, bool)) error {
	b := &breakage{c: c.objects, broken: broken, trees: make(map[digest.ContentID]bool)}
	chosen := make(map[digest.ActionID]int64)
	err := c.eachRecord(ctx, func(rec *cache.Record, e index.Entry) error {
		if !pick(e) {
			return nil
		}
		broken, err := b.record(ctx, rec)
		if broken {
			chosen[rec.Action] = e.At
		}
		if found != nil {
			found(rec, broken)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.drop(chosen)
}

// every picks all records.
func every(index.Entry) bool { return true }

// record reports whether a record leads to a broken object.
func (b *breakage) record(ctx context.Context, rec *cache.Record) (bool, error) {
	for ref := range rec.Outputs.Refs() {
		if broken, err := b.leads(ctx, ref); broken || err != nil {
			return broken, err
		}
	}
	return false, nil
}

// kindOf guesses the kind of an object from its content. A blob that looks like
// a tree is taken for a tree, which only keeps more.
func (c *objects) kindOf(id digest.ContentID) (cache.Kind, error) {
	f, err := c.openObject(id, false)
	if err != nil {
		return "", err
	}
	defer f.Close()
	is, err := tree.IsEncoding(f)
	if is {
		return cache.Tree, err
	}
	return cache.Blob, err
}
