package importer

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
)

// The limits of what is read.
const (
	maxYAML  = 1 << 20
	maxText  = 4 << 10
	maxFile  = 16 << 20
	maxCode  = 64 << 20
	maxFiles = 1000
)

// source is the folder that is imported, with the mistakes found so far.
type source struct {
	dir   string // without links
	diags hcl.Diagnostics
	files map[string]*hcl.File
}

func newSource(dir string) (*source, error) {
	real, err := checkout.Follow(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return nil, errors.Join(err, &fs.PathError{Op: "import", Path: dir, Err: errors.New("not a folder")})
	}
	return &source{dir: real, files: map[string]*hcl.File{}}, nil
}

// has reports whether there is a file.
func (s *source) has(name string) bool {
	_, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(name)))
	return err == nil
}

// read returns a regular file of the folder.
func (s *source) read(name string, limit int64) ([]byte, bool) {
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	text, err := checkout.ReadFile(path, limit, s.dir)
	if info, statErr := os.Lstat(path); err == nil && statErr == nil && !info.Mode().IsRegular() {
		err = errors.New("it is a link; put a copy of the file there")
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no such file in the folder; add it")
	}
	if err != nil {
		s.fail(hcl.Range{Filename: path}, "Cannot read "+name, "%v.", err)
		return nil, false
	}
	s.files[path] = &hcl.File{Bytes: text}
	return text, true
}

// isPointer reports whether a file is the pointer that Git LFS leaves for it.
func isPointer(text []byte) bool {
	return bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/"))
}

// notCode are files of the folder that are not read by its code.
var notCode = map[string]bool{
	"config.yaml": true, "checksums.yaml": true, "leaderboard.csv": true, "description.md": true, "description_obfuscated.md": true, "kernels.txt": true,
}

// code returns the files that the code may read, by their path below a folder.
func (s *source) code(below string) map[string][]byte {
	found, size := map[string][]byte{}, 0
	top := filepath.Join(s.dir, below)
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(e.Name(), ".") || e.Name() == "__pycache__"
		switch {
		case e.IsDir() && hidden && rel != ".":
			return fs.SkipDir
		case e.IsDir() || hidden || notCode[filepath.ToSlash(rel)]:
			return nil
		case len(found) == maxFiles || size > maxCode:
			return errTooMuch
		}
		name := filepath.ToSlash(filepath.Join(below, rel))
		if text, ok := s.read(name, maxFile); ok {
			if isPointer(text) {
				s.fail(hcl.Range{Filename: path}, "Cannot read "+name, "It is a pointer of Git LFS. Run git lfs pull in its repository.")
			}
			found[filepath.ToSlash(rel)], size = text, size+len(text)
		}
		return nil
	})
	if err != nil {
		s.fail(hcl.Range{Filename: top}, "Cannot read the code", "%v.", err)
	}
	return found
}

var errTooMuch = errors.New("the folder holds more than 1000 files or 64 MiB beside config.yaml, leaderboard.csv and the descriptions; code belongs there, data do not")
