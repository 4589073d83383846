package tree

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mleflow/mleflow/cache"
)

// Builder assembles a tree from content that is already in the store, for steps
// that stream files straight into it. The zero value is an empty tree.
//
// It uses a limited amount of memory, however many files are added and however
// they are spread over folders. Entries beyond the limit are sorted and written
// to files without a name, which disappear with the Builder or the process. It
// is not safe for concurrent use.
type Builder struct {
	// Work provides the folder for entries that exceed the memory; nil means the
	// system's folder of temporary files.
	Work cache.Workspace
	// Memory is the number of bytes to hold before they are written out; 0 means 32
	// MiB.
	Memory int

	held batch
	runs []*run
}

// NewBuilder returns a Builder that writes entries beyond its memory to a work
// folder.
func NewBuilder(work cache.Workspace) *Builder { return &Builder{Work: work} }

const (
	builderMemory = 32 << 20
	// maxRuns is the number of files that are merged at once. Each is an open file with
	// a read buffer; 64 of 32 MiB hold some 20 million entries.
	maxRuns = 64
)

// Add puts an object at a slash-separated path: a blob as a file, a tree as a
// folder with everything below it. Missing folders are created. A path that is
// already taken may only be reported by Build.
func (b *Builder) Add(path string, ref cache.Ref, executable bool) error {
	name, err := split(path)
	if err != nil {
		return err
	}
	e := NewEntry(name, ref, executable)
	if err := e.check(); err != nil {
		return fmt.Errorf("add %q to tree: %w", path, err)
	}
	return b.add(path, e)
}

// AddDir creates a folder, which may stay empty. If it exists already, that is
// fine.
func (b *Builder) AddDir(path string) error {
	if _, err := split(path); err != nil {
		return err
	}
	return b.add(path+"/", Entry{Type: marker})
}

// split rejects a path that is not clean and relative, and returns its last
// element.
func split(path string) (name string, err error) {
	for part := range strings.SplitSeq(path, "/") {
		if err := CheckName(part); err != nil {
			return "", fmt.Errorf("add %q to tree: %w", path, err)
		}
	}
	return path[strings.LastIndexByte(path, '/')+1:], nil
}

func (b *Builder) add(path string, e Entry) error {
	b.held.add(path, e)
	if b.held.size() < b.limit() {
		return nil
	}
	if err := b.spill(); err != nil {
		return fmt.Errorf("write entries of a tree to a temporary file: %w", err)
	}
	return nil
}

func (b *Builder) limit() int {
	if b.Memory <= 0 {
		return builderMemory
	}
	return b.Memory
}

// spill writes the held entries to a run, and merges the runs if there are
// many.
func (b *Builder) spill() error {
	r, err := b.newRun(b.held.sorted())
	if err != nil {
		return err
	}
	b.runs = append(b.runs, r)
	b.held.reset()
	if len(b.runs) < maxRuns {
		return nil
	}
	all, err := b.newRun(mergeRuns(b.runs))
	if err != nil {
		return err
	}
	closeRuns(b.runs)
	b.runs = append(b.runs[:0], all)
	return nil
}

func (b *Builder) newRun(from cursor) (*run, error) {
	dir := ""
	if b.Work != nil {
		var err error
		if dir, err = b.Work.TempDir("tree"); err != nil {
			return nil, err
		}
		defer os.Remove(dir) // empty, since the file loses its name
	}
	return writeRun(dir, from)
}

// Build stores the directories and returns the tree. A path that was added
// twice, or both as file and as folder, is an error that wraps ErrInvalid.
// Afterwards the Builder is empty.
func (b *Builder) Build(ctx context.Context, store cache.Store) (cache.Ref, error) {
	cursors := []cursor{b.held.sorted()}
	for _, r := range b.runs {
		cursors = append(cursors, r.cursor())
	}
	ref, err := assemble(ctx, store, merge(cursors))
	closeRuns(b.runs)
	*b = Builder{Work: b.Work, Memory: b.Memory}
	return ref, err
}
