package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
)

// ImportOptions configure Import.
type ImportOptions struct {
	// SkipSpecial leaves out symbolic links, devices, sockets and pipes; without
	// it, the first one is an error. They are never followed or read.
	SkipSpecial bool
	// Skip, if set, leaves out the files and folders for which it returns true,
	// given their path below the folder.
	Skip func(path string) bool
	// Known, if set, returns the content of an open file, which may call read for it.
	Known func(f *os.File, read func() (cache.Ref, error)) (cache.Ref, error)
	// Progress, if set, is called with the files and bytes stored so far, by one
	// goroutine at a time.
	Progress func(files, bytes int64)
}

// Import stores the folder dir as a tree. Files are read and hashed in
// parallel. The memory it needs depends on the size of the folders that wait to
// be listed, not on the total number of files.
//
// A file is executable in the tree if its owner may execute it. A file that
// changes while it is read is stored as it was read.
func Import(ctx context.Context, store cache.Building, dir string, opts ImportOptions) (cache.Ref, error) {
	if opts.Known == nil {
		opts.Known = func(_ *os.File, read func() (cache.Ref, error)) (cache.Ref, error) { return read() }
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	im := &importer{ctx: inner, store: store, opts: opts, root: dir, group: group, builder: NewBuilder(store)}
	err := im.scan()
	err = cmp.Or(group.Wait(), err)
	var ref cache.Ref
	if err == nil {
		ref, err = im.builder.Build(ctx, store)
	}
	if err != nil {
		return cache.Ref{}, fmt.Errorf("import %s: %w", dir, err)
	}
	return ref, nil
}

type importer struct {
	ctx   context.Context // of one call of Import
	store cache.Store
	opts  ImportOptions
	root  string
	// group stores the files.
	group *errgroup.Group

	mu           sync.Mutex
	builder      *Builder
	files, bytes int64
}

// scan lists all folders and stores their files.
func (im *importer) scan() error {
	waiting := []string{""}
	for len(waiting) > 0 {
		dir := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		below, err := im.scanDir(dir)
		if err != nil {
			return err
		}
		waiting = append(waiting, below...)
	}
	return nil
}

// scanDir stores the files of one folder and returns the folders in it.
func (im *importer) scanDir(dir string) (below []string, err error) {
	prefix := ""
	if dir != "" {
		prefix = dir + "/"
		im.mu.Lock()
		err = im.builder.AddDir(dir)
		im.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	err = eachIn(filepath.Join(im.root, dir), func(d fs.DirEntry) error {
		path := prefix + d.Name()
		switch {
		case im.opts.Skip != nil && im.opts.Skip(path):
		case d.IsDir():
			below = append(below, path)
		case d.Type().IsRegular():
			im.group.Go(func() error { return im.put(path) })
			return im.ctx.Err()
		case !im.opts.SkipSpecial:
			return specialError(filepath.Join(im.root, path), d.Type())
		}
		return nil
	})
	return below, err
}

// listedAtOnce is the number of entries of a folder that are held at a time. They
// are sorted by name, which is usually the order of files on a disk.
const listedAtOnce = 16 << 10

// eachIn calls fn for the entries of the folder dir, which must not be a link,
// without holding all of them.
func eachIn(dir string, fn func(fs.DirEntry) error) error {
	handle, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer handle.Close()
	for {
		list, err := handle.ReadDir(listedAtOnce)
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		if err := lists.Each(list, fn); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ErrSpecial means that a folder contains a file that a tree cannot hold.
var ErrSpecial = errors.New("a tree can only contain files and folders")

func specialError(path string, mode fs.FileMode) error {
	return fmt.Errorf("%s is %s; %w", path, nolink.Kind(mode), ErrSpecial)
}

// put stores a file and adds it to the tree.
func (im *importer) put(path string) error {
	if err := im.ctx.Err(); err != nil {
		return err
	}
	ref, executable, err := im.file(filepath.Join(im.root, path))
	if err != nil {
		return err
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	im.files++
	im.bytes += ref.Size
	if im.opts.Progress != nil {
		im.opts.Progress(im.files, im.bytes)
	}
	return im.builder.Add(path, ref, executable)
}

// file stores the file at path. If the entry has changed since it was listed,
// opening it neither follows a link nor waits for the writer of a pipe.
func (im *importer) file(path string) (cache.Ref, bool, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return cache.Ref{}, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return cache.Ref{}, false, err
	}
	if !info.Mode().IsRegular() {
		return cache.Ref{}, false, specialError(path, info.Mode())
	}
	ref, err := im.opts.Known(f, func() (cache.Ref, error) { return cache.Put(im.ctx, im.store, f, cache.Ref{}) })
	return ref, info.Mode()&0o100 != 0, err
}

// Put stores one directory, whose content must already be in the store. It
// sorts entries in place.
func Put(ctx context.Context, store cache.Store, entries []Entry) (cache.Ref, error) {
	sortEntries(entries)
	d := dirWriter{held: entries}
	defer d.close()
	return d.finish(ctx, store)
}
