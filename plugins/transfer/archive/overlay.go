package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
)

// Overlay is a folder with archives mounted over it, as an fs.FS. If two
// contain the same name, the one mounted last is read. Once everything is
// mounted, it is safe for concurrent reading.
type Overlay struct {
	// Unpacking, if set, counts the bytes of archives that are unpacked.
	Unpacking *progress.Work

	layers  []layer
	closers []func() error
}

// layer is a file system mounted below a folder.
type layer struct {
	fs     fs.FS
	folder string
}

// NewOverlay returns an overlay of one folder.
func NewOverlay(base fs.FS) *Overlay { return &Overlay{layers: []layer{{base, "."}}} }

// Mount mounts the entries of the archive name, itself a file of the overlay,
// below folder ("." for the top). Archives that cannot be read in place are
// unpacked into a new folder below work. If there is a folder instead of the
// archive, it is taken for the unpacked archive.
func (o *Overlay) Mount(ctx context.Context, name, folder, work string) error {
	if !fs.ValidPath(folder) {
		return fmt.Errorf("mount %s: %q is not a relative folder", name, folder)
	}
	if info, err := o.Stat(name); err == nil && info.IsDir() {
		base, at := o.Resolve(name)
		sub, err := fs.Sub(base, at)
		if err != nil {
			return fmt.Errorf("mount %s: %w", name, err)
		}
		o.layers = append(o.layers, layer{sub, folder})
		return nil
	}
	f, err := o.Open(name)
	if err != nil {
		return fmt.Errorf("mount %s: %w", name, err)
	}
	src, drop, err := SourceOf(f, work)
	if err != nil {
		return fmt.Errorf("mount %s: %w", name, errors.Join(err, f.Close()))
	}
	o.closers = append(o.closers, drop, f.Close)
	mounted, err := o.mountFS(ctx, src, name, work)
	if err != nil {
		return fmt.Errorf("mount %s: %w", name, err)
	}
	o.layers = append(o.layers, layer{mounted, folder})
	return nil
}

// Close closes the mounted archives.
func (o *Overlay) Close() error {
	errs := lists.Of(o.closers, func(c func() error) error { return c() })
	o.closers = nil
	return errors.Join(errs...)
}

// SourceOf makes what r reads readable at any offset: r itself, or a temporary copy in
// work. Drop removes the copy. It does not close r.
func SourceOf(r io.Reader, work string) (src Source, drop func() error, err error) {
	if f, ok := r.(interface {
		io.ReaderAt
		Stat() (fs.FileInfo, error)
	}); ok {
		info, err := f.Stat()
		if err != nil {
			return src, nil, err
		}
		return Source{f, info.Size()}, func() error { return nil }, nil
	}
	spool, err := os.CreateTemp(work, "spool-")
	if err != nil {
		return src, nil, err
	}
	drop = func() error { return errors.Join(spool.Close(), os.Remove(spool.Name())) }
	n, err := io.Copy(spool, r)
	if err != nil {
		return src, nil, errors.Join(err, drop())
	}
	return Source{spool, n}, drop, nil
}

func (o *Overlay) mountFS(ctx context.Context, src Source, name, work string) (fs.FS, error) {
	format, err := FormatIn(src, name)
	if err != nil {
		return nil, err
	}
	if format == Zip {
		return newZipFS(src)
	}
	dir, err := os.MkdirTemp(work, "unpacked-")
	if err != nil {
		return nil, err
	}
	o.Unpacking.Begin("unpacking", 0, src.Size)
	defer o.Unpacking.Begin("", 0, 0)
	src.ReaderAt = countedAt{src.ReaderAt, o.Unpacking}
	if err := Unpack(ctx, src, format, DefaultLimits(), dir); err != nil {
		return nil, err
	}
	return os.DirFS(dir), nil
}

// countedAt counts the bytes that are read.
type countedAt struct {
	io.ReaderAt
	work *progress.Work
}

// ReadAt implements io.ReaderAt.
func (c countedAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.work.Add(0, int64(n))
	return n, err
}

// below returns name relative to the layer's folder; above says that name is
// one of that folder's parents.
func (l layer) below(name string) (rel string, above, ok bool) {
	switch {
	case l.folder == name:
		return ".", false, true
	case l.folder == ".":
		return name, false, true
	case strings.HasPrefix(name, l.folder+"/"):
		return name[len(l.folder)+1:], false, true
	case name == "." || strings.HasPrefix(l.folder, name+"/"):
		return "", true, false
	}
	return "", false, false
}

// lookup calls try with the name in each file system that may have it, the one mounted last first,
// until one has it.
func (o *Overlay) lookup(op, name string, try func(layer fs.FS, name string) error) error {
	for _, l := range slices.Backward(o.layers) {
		if rel, _, ok := l.below(name); ok {
			if err := try(l.fs, rel); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Open implements fs.FS. A folder lists the entries of all layers.
func (o *Overlay) Open(name string) (f fs.File, err error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	err = o.lookup("open", name, func(layer fs.FS, name string) (err error) {
		f, err = layer.Open(name)
		return err
	})
	return f, err
}

// Stat implements fs.StatFS.
func (o *Overlay) Stat(name string) (info fs.FileInfo, err error) {
	err = o.lookup("stat", name, func(layer fs.FS, name string) (err error) {
		info, err = fs.Stat(layer, name)
		return err
	})
	return info, err
}

// ReadDir implements fs.ReadDirFS.
func (o *Overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	byName := map[string]fs.DirEntry{}
	found := false
	for _, l := range o.layers {
		rel, above, ok := l.below(name)
		if above {
			found = true
			child, _, _ := strings.Cut(strings.TrimPrefix(l.folder, strings.TrimPrefix(name+"/", "./")), "/")
			byName[child] = folderEntry(child).Info()
		}
		if !ok {
			continue
		}
		entries, err := fs.ReadDir(l.fs, rel)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = true
		for _, e := range entries {
			byName[e.Name()] = e
		}
	}
	if !found {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }), nil
}

// Resolve returns the file system that contains a file, and its name there, so
// that a store can recognise raw files.
func (o *Overlay) Resolve(name string) (fs.FS, string) {
	for _, l := range slices.Backward(o.layers) {
		if rel, _, ok := l.below(name); ok {
			if _, err := fs.Stat(l.fs, rel); err == nil {
				return l.fs, rel
			}
		}
	}
	return o, name
}

// folderEntry returns the entry of a folder that exists only as the place of
// a mounted archive.
func folderEntry(name string) tree.Entry {
	return tree.Entry{Name: path.Base(name), Type: tree.Directory}
}
