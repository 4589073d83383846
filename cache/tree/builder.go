package tree

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
)

// Builder assembles a tree from content that is in the store already, for
// steps that stream files straight into it. The zero value is an empty tree.
// It keeps one entry a file in memory. It is not safe for concurrent use.
type Builder struct {
	root node
	// last is the directory of the latest Add, since files mostly come
	// folder by folder.
	lastDir  string
	lastNode *node
}

// node is a directory under construction. A name may be there twice until
// Build refuses it.
type node struct {
	entries []Entry
	dirs    map[string]*node
}

// Add puts an object at a slash-separated path: a blob as a file, a tree as a
// folder with everything below it. Missing folders are made. That the path is
// taken already may only be noticed by Build.
func (b *Builder) Add(path string, ref cache.Ref, executable bool) error {
	dir, name, err := split(path)
	if err != nil {
		return err
	}
	e := NewEntry(name, ref, executable)
	if err := e.check(); err != nil {
		return fmt.Errorf("add %q to tree: %w", path, err)
	}
	n := b.dir(dir)
	n.entries = append(n.entries, e)
	return nil
}

// AddDir makes a folder, which may stay empty. One that is there already is
// fine.
func (b *Builder) AddDir(path string) error {
	dir, name, err := split(path)
	if err != nil {
		return err
	}
	b.dir(dir).child(name)
	return nil
}

// split refuses a path that is not clean and relative, and cuts it before its
// last element; dir ends with "/" or is empty.
func split(path string) (dir, name string, err error) {
	for part := range strings.SplitSeq(path, "/") {
		if err := CheckName(part); err != nil {
			return "", "", fmt.Errorf("add %q to tree: %w", path, err)
		}
	}
	i := strings.LastIndexByte(path, '/') + 1
	return path[:i], path[i:], nil
}

func (b *Builder) dir(dir string) *node {
	if b.lastNode != nil && dir == b.lastDir {
		return b.lastNode
	}
	n := &b.root
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if part != "" {
			n = n.child(part)
		}
	}
	b.lastDir, b.lastNode = dir, n
	return n
}

func (n *node) child(name string) *node {
	c := n.dirs[name]
	if c == nil {
		if n.dirs == nil {
			n.dirs = make(map[string]*node)
		}
		c = &node{}
		n.dirs[strings.Clone(name)] = c
	}
	return c
}

// Build stores the directories and returns the tree. A path that was added
// twice, or both as file and as folder, is an error that wraps ErrInvalid.
// The Builder is empty afterwards.
func (b *Builder) Build(ctx context.Context, store cache.Store) (cache.Ref, error) {
	ref, err := b.root.build(ctx, store, "")
	*b = Builder{}
	return ref, err
}

func (n *node) build(ctx context.Context, store cache.Store, path string) (cache.Ref, error) {
	for _, name := range slices.Sorted(maps.Keys(n.dirs)) {
		ref, err := n.dirs[name].build(ctx, store, path+name+"/")
		if err != nil {
			return cache.Ref{}, err
		}
		n.entries = append(n.entries, NewEntry(name, ref, false))
		delete(n.dirs, name)
	}
	sortEntries(n.entries)
	for i := 1; i < len(n.entries); i++ {
		if n.entries[i].Name == n.entries[i-1].Name {
			return cache.Ref{}, fmt.Errorf("build tree: %w: %q is there twice", ErrInvalid, path+n.entries[i].Name)
		}
	}
	return Put(ctx, store, n.entries)
}
