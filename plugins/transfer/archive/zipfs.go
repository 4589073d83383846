package archive

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// zipFS is a checked zip archive as a file system. Files are decompressed while
// they are read; several may be read at once.
type zipFS struct {
	files map[string]zipFile
	// folders maps a folder to its children, sorted by name.
	folders map[string][]fs.DirEntry
}

func newZipFS(src Source) (*zipFS, error) {
	files, err := openZip(src, &guard{limits: DefaultLimits(), seen: map[string]bool{}})
	if err != nil {
		return nil, err
	}
	z := &zipFS{files: map[string]zipFile{}, folders: map[string][]fs.DirEntry{".": nil}}
	for _, f := range files {
		if f.Folder {
			z.addFolder(f.Name)
			continue
		}
		z.files[f.Name] = f
		z.addFolder(path.Dir(f.Name))
		z.addChild(f.Name, fs.FileInfoToDirEntry(fileInfo{path.Base(f.Name), f.Entry}))
	}
	for _, children := range z.folders {
		slices.SortFunc(children, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
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

func (z *zipFS) addChild(name string, e fs.DirEntry) {
	dir := path.Dir(name)
	z.folders[dir] = append(z.folders[dir], e)
}

// Open implements fs.FS.
func (z *zipFS) Open(name string) (fs.File, error) {
	if f, ok := z.files[name]; ok {
		r, err := f.open()
		if err != nil {
			return nil, err
		}
		return openFile{r, fileInfo{path.Base(name), f.Entry}}, nil
	}
	if children, ok := z.folders[name]; ok {
		return &openFolder{info: folderInfo(path.Base(name)), left: children}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Stat implements fs.StatFS.
func (z *zipFS) Stat(name string) (fs.FileInfo, error) {
	if f, ok := z.files[name]; ok {
		return fileInfo{path.Base(name), f.Entry}, nil
	}
	if _, ok := z.folders[name]; ok {
		return folderInfo(path.Base(name)), nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// ReadDir implements fs.ReadDirFS.
func (z *zipFS) ReadDir(name string) ([]fs.DirEntry, error) {
	children, ok := z.folders[name]
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(children), nil
}

// fileInfo describes a file of an archive.
type fileInfo struct {
	name  string
	entry Entry
}

// Name implements fs.FileInfo.
func (i fileInfo) Name() string { return i.name }

// Size implements fs.FileInfo.
func (i fileInfo) Size() int64 { return i.entry.Size }

// Mode implements fs.FileInfo.
func (i fileInfo) Mode() fs.FileMode {
	if i.entry.Executable {
		return 0o555
	}
	return 0o444
}

// ModTime implements fs.FileInfo.
func (i fileInfo) ModTime() time.Time { return time.Time{} }

// IsDir implements fs.FileInfo.
func (i fileInfo) IsDir() bool { return false }

// Sys implements fs.FileInfo.
func (i fileInfo) Sys() any { return nil }

// folderInfo describes a folder by its name.
type folderInfo string

// Name implements fs.FileInfo.
func (i folderInfo) Name() string { return string(i) }

// Size implements fs.FileInfo.
func (i folderInfo) Size() int64 { return 0 }

// Mode implements fs.FileInfo.
func (i folderInfo) Mode() fs.FileMode { return fs.ModeDir | 0o555 }

// ModTime implements fs.FileInfo.
func (i folderInfo) ModTime() time.Time { return time.Time{} }

// IsDir implements fs.FileInfo.
func (i folderInfo) IsDir() bool { return true }

// Sys implements fs.FileInfo.
func (i folderInfo) Sys() any { return nil }

type openFile struct {
	io.ReadCloser
	info fileInfo
}

// Stat implements fs.File.
func (f openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

type openFolder struct {
	info folderInfo
	left []fs.DirEntry
}

// Stat implements fs.File.
func (f *openFolder) Stat() (fs.FileInfo, error) { return f.info, nil }

// Read implements fs.File.
func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: string(f.info), Err: errors.New("is a folder")}
}

// Close implements fs.File.
func (f *openFolder) Close() error { return nil }

// ReadDir implements fs.ReadDirFile.
func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		out := f.left
		f.left = nil
		return out, nil
	}
	if len(f.left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.left))
	out := f.left[:n]
	f.left = f.left[n:]
	return out, nil
}
