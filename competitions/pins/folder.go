package pins

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/data/compare"
)

// errSealed means that a folder's content is unknown.
var errSealed = errors.New("the folder's files are not listed")

// folder is something that files are compared in.
type folder interface {
	// list yields the entries of a folder in the order of their names; those without an ID
	// have only a name and a type. The first error is errSealed if they are not known.
	list(ctx context.Context, dir string) iter.Seq2[tree.Entry, error]
	// identity returns a file or folder with its digest, fs.ErrNotExist when
	// there is none.
	identity(ctx context.Context, name string) (tree.Entry, error)
	// open returns how to open a file, nil when its bytes are not at hand.
	open(name string) compare.Opener
}

// treeFolder is a tree of a store.
type treeFolder struct {
	store cache.Files
	root  cache.Ref
}

func (t treeFolder) identity(ctx context.Context, name string) (tree.Entry, error) {
	return tree.Find(ctx, t.store, t.root, name)
}

func (t treeFolder) list(ctx context.Context, dir string) iter.Seq2[tree.Entry, error] {
	return func(yield func(tree.Entry, error) bool) {
		e, err := tree.Find(ctx, t.store, t.root, dir)
		if err == nil {
			err = tree.Each(ctx, t.store, e.Ref(), func(e tree.Entry) error {
				if !yield(e, nil) {
					return fs.SkipAll
				}
				return nil
			})
		}
		if err != nil && !errors.Is(err, fs.SkipAll) {
			yield(tree.Entry{}, err)
		}
	}
}

func (t treeFolder) open(name string) compare.Opener {
	return func(ctx context.Context) (fs.File, error) { return tree.NewFS(ctx, t.store, t.root).Open(name) }
}

// halves are the folders that make up prepared data. Anything else next to them
// does not belong to it.
var halves = map[string]bool{"public": true, "private": true}

// diskFolder is a folder on disk, which has no digests yet. It remembers those
// of the first entries it has read.
type diskFolder struct {
	fs fs.FS
	// described leaves public/description.md out.
	described bool
	// work counts the bytes that are read.
	work *progress.Work

	mu    sync.Mutex
	known map[string]tree.Entry
}

// maxKnown is the number of entries that a diskFolder remembers.
const maxKnown = 100_000

func (d *diskFolder) list(_ context.Context, dir string) iter.Seq2[tree.Entry, error] {
	return func(yield func(tree.Entry, error) bool) {
		entries, err := fs.ReadDir(d.fs, dir)
		if err != nil {
			yield(tree.Entry{}, err)
			return
		}
		for _, e := range entries {
			if !d.leaves(dir, e.Name()) && !yield(tree.Entry{Name: e.Name(), Type: typeOf(e.Type())}, nil) {
				return
			}
		}
	}
}

// typeOf returns the type that a tree gives a file or folder of a mode.
func typeOf(mode fs.FileMode) tree.Type {
	switch {
	case mode.IsDir():
		return tree.Directory
	case mode&0o100 != 0:
		return tree.Executable
	}
	return tree.File
}

// leaves reports whether an entry of a folder is none of the prepared data's.
func (d *diskFolder) leaves(dir, name string) bool {
	return dir == "." && !halves[name] || d.described && dir == "public" && name == descriptionFile
}

func (d *diskFolder) open(name string) compare.Opener {
	return func(context.Context) (fs.File, error) { return d.fs.Open(name) }
}

func (d *diskFolder) identity(ctx context.Context, name string) (tree.Entry, error) {
	info, err := fs.Stat(d.fs, name)
	if err != nil {
		return tree.Entry{}, err
	}
	d.mu.Lock()
	e, ok := d.known[name]
	d.mu.Unlock()
	if e.Name, e.Type = info.Name(), typeOf(info.Mode()); ok {
		return e, nil
	}
	if info.IsDir() {
		err = d.directory(ctx, name, &e)
	} else {
		e.ID, e.Size, err = d.file(ctx, name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && len(d.known) < maxKnown {
		d.known[name] = e
	}
	return e, err
}

// directory encodes a folder, and what is below it.
func (d *diskFolder) directory(ctx context.Context, name string, e *tree.Entry) error {
	entries, err := fs.ReadDir(d.fs, name)
	if err != nil {
		return err
	}
	enc := tree.NewEncoder(io.Discard)
	for _, child := range entries {
		if d.leaves(name, child.Name()) {
			continue
		}
		below, err := d.identity(ctx, path.Join(name, child.Name()))
		if err != nil {
			return err
		}
		below.Name = child.Name()
		if err := enc.Write(below); err != nil {
			return err
		}
	}
	ref, err := enc.Finish()
	e.ID, e.Size, e.Files = ref.ID, ref.Size, ref.Files
	return err
}

func (d *diskFolder) file(ctx context.Context, name string) (id digest.ContentID, size int64, err error) {
	f, err := d.fs.Open(name)
	if err != nil {
		return id, 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = cache.Copy(ctx, h, d.work.Reader(f))
	d.work.Add(1, 0)
	h.Sum(id[:0])
	return id, size, err
}

// begin has work count what is read from here on, until all files are read.
func (d *diskFolder) begin(what string, work *progress.Work) {
	if d.work = work; work == nil {
		return
	}
	var files, bytes int64
	err := fs.WalkDir(d.fs, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && d.leaves(path.Dir(name), e.Name()) && e.IsDir():
			return fs.SkipDir
		case e.IsDir() || d.leaves(path.Dir(name), e.Name()):
			return nil
		}
		info, err := e.Info()
		if err == nil {
			files, bytes = files+1, bytes+info.Size()
		}
		return err
	})
	if err != nil {
		files, bytes = 0, 0 // reading them says so
	}
	work.Begin(what, files, bytes)
}
