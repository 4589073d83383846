package tree

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
)

// ImportOptions say how Import treats a folder.
type ImportOptions struct {
	// SkipSpecial leaves out symbolic links, devices, sockets and pipes;
	// without it the first one is an error. They are never followed or read.
	SkipSpecial bool
	// Workers is the number of files read at once; 0 is one a processor.
	Workers int
	// Progress, when set, is told the files and bytes stored so far, by one
	// goroutine at a time.
	Progress func(files, bytes int64)
}

// Import stores the folder dir as a tree. Files are read and hashed in
// parallel. The memory needed is bounded by the entries of the directories
// between dir and the files in work, not by the size of the tree.
//
// A file is executable in the tree when its owner may execute it. A file that
// changes while it is read is stored as it was read.
func Import(ctx context.Context, store cache.Store, dir string, opts ImportOptions) (cache.Ref, error) {
	workers := opts.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	group, ctx := errgroup.WithContext(ctx)
	im := &importer{ctx: ctx, store: store, opts: opts, jobs: make(chan job, 4*workers)}
	root := &folder{}
	group.Go(func() error {
		defer close(im.jobs)
		return im.scan(root, dir)
	})
	for range workers {
		group.Go(im.work)
	}
	if err := group.Wait(); err != nil {
		return cache.Ref{}, fmt.Errorf("import %s: %w", dir, err)
	}
	return root.ref, nil
}

// folder is a directory whose entries are not all stored yet.
type folder struct {
	parent  *folder
	index   int // of this folder in parent.entries
	entries []Entry
	// pending counts the entries that have no content yet, and one for the
	// scan itself. Who brings it to zero stores the directory.
	pending atomic.Int64
	ref     cache.Ref // once stored
}

type job struct {
	in    *folder
	index int
	path  string
}

type importer struct {
	ctx   context.Context // of one call of Import
	store cache.Store
	opts  ImportOptions
	jobs  chan job

	mu           sync.Mutex
	files, bytes int64
}

// scan lists dir, hands its files to the workers and descends.
func (im *importer) scan(f *folder, dir string) error {
	list, err := im.list(dir)
	if err != nil {
		return err
	}
	f.entries = make([]Entry, len(list))
	f.pending.Store(int64(len(list)) + 1)
	for i, d := range list {
		f.entries[i].Name = d.Name()
		path := filepath.Join(dir, d.Name())
		if d.IsDir() {
			if err := im.scan(&folder{parent: f, index: i}, path); err != nil {
				return err
			}
			continue
		}
		select {
		case im.jobs <- job{f, i, path}:
		case <-im.ctx.Done():
			return im.ctx.Err()
		}
	}
	return im.done(f)
}

// list returns the entries of dir that go into the tree, sorted by name.
func (im *importer) list(dir string) ([]fs.DirEntry, error) {
	handle, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	list, err := handle.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	keep := list[:0]
	for _, d := range list {
		if d.IsDir() || d.Type().IsRegular() {
			keep = append(keep, d)
		} else if !im.opts.SkipSpecial {
			return nil, specialError(filepath.Join(dir, d.Name()), d.Type())
		}
	}
	slices.SortFunc(keep, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return keep, nil
}

func specialError(path string, mode fs.FileMode) error {
	what := "a device, socket or pipe"
	if mode&fs.ModeSymlink != 0 {
		what = "a symbolic link"
	}
	return fmt.Errorf("%s is %s; a tree holds only files and folders", path, what)
}

func (im *importer) work() error {
	buf := make([]byte, 128<<10)
	for j := range im.jobs {
		if err := im.ctx.Err(); err != nil {
			return err
		}
		ref, executable, err := im.file(j.path, buf)
		if err != nil {
			return err
		}
		e := &j.in.entries[j.index]
		*e = NewEntry(e.Name, ref, executable)
		im.progress(ref.Size)
		if err := im.done(j.in); err != nil {
			return err
		}
	}
	return nil
}

// file stores the file at path. Opening neither follows a link nor waits for
// a pipe's writer, should the entry have changed since it was listed.
func (im *importer) file(path string, buf []byte) (cache.Ref, bool, error) {
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
	in, err := im.store.Ingest(im.ctx, "")
	if err != nil {
		return cache.Ref{}, false, err
	}
	defer in.Close()
	if err := im.copy(in, f, buf); err != nil {
		return cache.Ref{}, false, fmt.Errorf("read %s: %w", path, err)
	}
	ref, err := in.Commit(im.ctx, cache.Ref{})
	return ref, info.Mode()&0o100 != 0, err
}

// copy is io.CopyBuffer that can be cancelled.
func (im *importer) copy(dst io.Writer, src io.Reader, buf []byte) error {
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := im.ctx.Err(); err != nil {
			return err
		}
	}
}

// done takes one off f's pending entries and stores f, and then its parents,
// when it was the last.
func (im *importer) done(f *folder) error {
	for f.pending.Add(-1) == 0 {
		ref, err := Put(im.ctx, im.store, f.entries)
		if err != nil {
			return err
		}
		f.ref, f.entries = ref, nil
		if f.parent == nil {
			return nil
		}
		e := &f.parent.entries[f.index]
		*e = NewEntry(e.Name, ref, false)
		f = f.parent
	}
	return nil
}

func (im *importer) progress(size int64) {
	if im.opts.Progress == nil {
		return
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	im.files++
	im.bytes += size
	im.opts.Progress(im.files, im.bytes)
}

// Put stores one directory, whose content must be in the store already. It
// sorts entries in place.
func Put(ctx context.Context, store cache.Store, entries []Entry) (cache.Ref, error) {
	sortEntries(entries)
	in, err := store.Ingest(ctx, "")
	if err != nil {
		return cache.Ref{}, err
	}
	defer in.Close()
	enc := NewEncoder(in)
	for _, e := range entries {
		if err := enc.Write(e); err != nil {
			return cache.Ref{}, fmt.Errorf("store tree: %w", err)
		}
	}
	ref, err := enc.Finish()
	if err != nil {
		return cache.Ref{}, fmt.Errorf("store tree: %w", err)
	}
	if _, err := in.Commit(ctx, cache.Ref{Kind: cache.Blob, ID: ref.ID}); err != nil {
		return cache.Ref{}, fmt.Errorf("store tree: %w", err)
	}
	return ref, nil
}
