package tree

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// keepEntries limits how many directory entries an FS keeps in memory.
const keepEntries = 1 << 19

// FS is a tree of a store as a read-only file system. It implements fs.StatFS, and is
// safe for concurrent use. Content is verified when a file is read to its end. Open
// files also implement io.ReaderAt and io.Seeker; bytes that are read that way are not
// verified. Modification times are zero.
type FS struct {
	ctx   context.Context // of every read, since fs.FS has no place for one
	store cache.Files
	root  Entry

	mu   sync.Mutex
	dirs map[cache.Ref][]Entry
	kept int
}

// NewFS returns the tree that ref names. All reads use ctx.
func NewFS(ctx context.Context, store cache.Files, ref cache.Ref) *FS {
	return &FS{ctx: ctx, store: store, root: NewEntry(".", ref, false), dirs: make(map[cache.Ref][]Entry)}
}

func (f *FS) find(op, name string) (Entry, error) {
	if !fs.ValidPath(name) {
		return Entry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return find(op, f.root, name, func(dir cache.Ref, name string) (Entry, error) {
		entries, err := f.read(dir)
		i, ok := slices.BinarySearchFunc(entries, name, func(e Entry, s string) int { return strings.Compare(e.Name, s) })
		if !ok {
			return Entry{}, cmp.Or(err, fs.ErrNotExist)
		}
		return entries[i], nil
	})
}

// read returns a directory, from memory if it was read recently.
func (f *FS) read(ref cache.Ref) ([]Entry, error) {
	f.mu.Lock()
	entries, ok := f.dirs[ref]
	f.mu.Unlock()
	if ok {
		return entries, nil
	}
	entries, err := Read(f.ctx, f.store, ref)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept+len(entries) > keepEntries {
		clear(f.dirs)
		f.kept = 0
	}
	f.dirs[ref] = entries
	f.kept += len(entries) + 1
	return entries, nil
}

// Open implements fs.FS.
func (f *FS) Open(name string) (fs.File, error) {
	e, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	if !e.IsDir() {
		return f.openFile(name, e)
	}
	entries, err := f.read(e.Ref())
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return OpenDir(e, entries), nil
}

// Stat implements fs.StatFS.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	e, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return e.Info(), nil
}

// Info returns the entry as fs.FileInfo and fs.DirEntry.
func (e Entry) Info() interface {
	fs.FileInfo
	fs.DirEntry
} {
	return info{e}
}

// OpenDir returns the open directory e with its entries.
func OpenDir(e Entry, entries []Entry) fs.File { return &openDir{info: info{e}, rest: entries} }

// info is an Entry as fs.FileInfo and fs.DirEntry.
type info struct{ e Entry }

func (i info) Name() string               { return path.Base(i.e.Name) }
func (i info) Size() int64                { return i.e.Size }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) IsDir() bool                { return i.e.IsDir() }
func (i info) Type() fs.FileMode          { return i.Mode().Type() }
func (i info) Info() (fs.FileInfo, error) { return i, nil }
func (i info) String() string             { return fs.FormatDirEntry(i) }

// Sys returns the Entry if its content is in a store.
func (i info) Sys() any {
	if i.e.ID.IsZero() {
		return nil
	}
	return i.e
}

func (i info) Mode() fs.FileMode {
	switch i.e.Type {
	case Directory:
		return fs.ModeDir | 0o555
	case Executable:
		return 0o555
	}
	return 0o444
}

// openDir lists a directory.
type openDir struct {
	info info
	rest []Entry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.rest) {
		if n > 0 && len(d.rest) == 0 {
			return nil, io.EOF
		}
		n = len(d.rest)
	}
	list := lists.Of(d.rest[:n], func(e Entry) fs.DirEntry { return info{e} })
	d.rest = d.rest[n:]
	return list, nil
}

// openFile opens a file that can be read at any offset. Reads are verified
// until the first seek or read at an offset; from then on they are not.
func (f *FS) openFile(name string, e Entry) (fs.File, error) {
	r, err := f.store.Open(f.ctx, e.ID)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	open := sync.OnceValues(func() (cache.RandomReader, error) { return f.store.OpenAt(f.ctx, e.ID) })
	return &openFile{verified: r, info: info{e}, open: open}, nil
}

// openFile is an open file. Most files are read from beginning to end, so the
// random reader is only created when it is needed.
type openFile struct {
	// verified reads from the beginning.
	verified io.ReadCloser
	info     info
	// open returns the one random reader; opened says that it exists.
	open   func() (cache.RandomReader, error)
	opened atomic.Bool
	// section is where Read continues once a seek was made.
	section *io.SectionReader
	read    int64
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *openFile) Read(p []byte) (int, error) {
	if f.section != nil {
		return f.section.Read(p)
	}
	n, err := f.verified.Read(p)
	f.read += int64(n)
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *openFile) ReadAt(p []byte, off int64) (int, error) {
	at, err := f.random()
	if err != nil {
		return 0, err
	}
	return at.ReadAt(p, off)
}

// Seek implements io.Seeker.
func (f *openFile) Seek(offset int64, whence int) (int64, error) {
	if f.section == nil {
		at, err := f.random()
		if err != nil {
			return 0, err
		}
		f.section = io.NewSectionReader(at, 0, f.info.e.Size)
		if _, err := f.section.Seek(f.read, io.SeekStart); err != nil {
			return 0, err
		}
	}
	return f.section.Seek(offset, whence)
}

func (f *openFile) random() (cache.RandomReader, error) {
	at, err := f.open()
	if err == nil {
		f.opened.Store(true)
	}
	return at, err
}

func (f *openFile) Close() error {
	err := f.verified.Close()
	if !f.opened.Load() {
		return err
	}
	at, openErr := f.open()
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	return errors.Join(err, at.Close())
}
