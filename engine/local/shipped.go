package local

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
)

// Ship adds pipeline files that are used if the folder has none of that name. A
// nil file system adds none.
func (f *Files) Ship(files fs.FS) { f.shipped = files }

// Source returns the pipeline file at path as a string, from the folder if it
// exists there, and from the shipped files otherwise.
func (f *Files) Source(path string) (string, error) {
	if !f.IsShipped(path) {
		a, err := f.Text(path)
		return a.Text, err
	}
	a, err := f.answer(Answer{Op: "text", Path: f.clean(path)}, func(a *Answer) error {
		text, err := fs.ReadFile(f.shipped, a.Path)
		a.Text = string(text)
		return err
	})
	return a.Text, err
}

// Sources returns the pipeline files that match a pattern in the folder of the
// file from, relative to it and sorted. If from is shipped, they include the
// shipped files.
func (f *Files) Sources(from, pattern string) ([]string, error) {
	dir := path.Dir(filepath.ToSlash(from))
	if !f.IsShipped(from) || !doublestar.ValidatePattern(pattern) {
		a, err := f.List(dir, pattern)
		return a.List, err
	}
	a, err := f.answer(Answer{Op: "list", Path: f.clean(dir), Patterns: []string{pattern}}, func(a *Answer) error {
		below, err := fs.Sub(f.shipped, a.Path)
		if err != nil {
			return err
		}
		shipped, err := doublestar.Glob(below, pattern, doublestar.WithFilesOnly())
		if err != nil {
			return err
		}
		own, err := f.list(a, pattern)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		a.List = slices.Concat(own, shipped)
		slices.Sort(a.List)
		a.List = slices.Compact(a.List)
		return nil
	})
	return a.List, err
}

// IsShipped reports whether the pipeline file at path is a shipped one, because
// the folder has none.
func (f *Files) IsShipped(path string) bool {
	if f.read == nil || f.shipped == nil {
		return false
	}
	if _, err := os.Lstat(f.at(path)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err := fs.Stat(f.shipped, f.clean(path))
	return err == nil
}
