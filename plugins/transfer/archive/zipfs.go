package archive

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/tree"
)

// zipFS is a checked zip archive as a file system. Files are decompressed while
// they are read; several may be read at once.
type zipFS struct {
	src   Source
	files map[string]zipHeader
	// folders maps a folder to its children, sorted by name.
	folders map[string][]tree.Entry
}

func newZipFS(src Source) (*zipFS, error) {
	dir, err := openZip(src, &guard{limits: DefaultLimits(), seen: map[string]bool{}})
	if err != nil {
		return nil, err
	}
	z := &zipFS{src: src, files: map[string]zipHeader{}, folders: map[string][]tree.Entry{".": nil}}
	err = dir.each(func(h *zipHeader) error {
		if h.Folder {
			z.addFolder(h.Name)
			return nil
		}
		z.files[h.Name] = *h
		z.addFolder(path.Dir(h.Name))
		z.addChild(h.Name, h.entry())
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, children := range z.folders {
		slices.SortFunc(children, func(a, b tree.Entry) int { return strings.Compare(a.Name, b.Name) })
	}
	return z, nil
}

func (z *zipFS) addFolder(name string) {
	if _, ok := z.folders[name]; ok {
		return
	}
	z.folders[name] = nil
	z.addFolder(path.Dir(name))
	z.addChild(name, folderEntry(name))
}

func (z *zipFS) addChild(name string, e tree.Entry) {
	dir := path.Dir(name)
	z.folders[dir] = append(z.folders[dir], e)
}

// Open implements fs.FS.
func (z *zipFS) Open(name string) (fs.File, error) {
	if f, ok := z.files[name]; ok {
		r, err := f.openStream(z.src)
		if err != nil {
			return nil, err
		}
		return openFile{r, f.entry()}, nil
	}
	if children, ok := z.folders[name]; ok {
		return tree.OpenDir(folderEntry(name), children), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Stat implements fs.StatFS.
func (z *zipFS) Stat(name string) (fs.FileInfo, error) {
	if f, ok := z.files[name]; ok {
		return f.entry().Info(), nil
	}
	if _, ok := z.folders[name]; ok {
		return folderEntry(name).Info(), nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// entry describes a file.
func (f *zipHeader) entry() tree.Entry {
	e := tree.Entry{Name: path.Base(f.Name), Type: tree.File, Size: f.Size}
	if f.Executable {
		e.Type = tree.Executable
	}
	return e
}

type openFile struct {
	io.ReadCloser
	entry tree.Entry
}

// Stat implements fs.File.
func (f openFile) Stat() (fs.FileInfo, error) { return f.entry.Info(), nil }
