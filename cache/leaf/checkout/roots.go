package checkout

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Roots returns the folders that belong to the files in dir, without links: dir, and the
// Git repository around it. Where there is none, it is the working folder, if dir is
// below it. The home folder and what contains it are never such a surrounding.
func Roots(dir string) []string {
	own, err := Follow(dir)
	if err != nil {
		return nil
	}
	home := Home()
	for at := own; at != filepath.Dir(at) && (home == "" || !Below(home, at)); at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return slices.Compact([]string{own, at})
		}
	}
	work, err := os.Getwd()
	if err == nil {
		work, err = Follow(work)
	}
	if err != nil || !Below(own, work) || work == "/" || home != "" && Below(home, work) {
		return []string{own}
	}
	return slices.Compact([]string{own, work})
}

// Home returns the user's home folder without links, or "".
func Home() string {
	home, err := os.UserHomeDir()
	if err != nil || home == "/" {
		return ""
	}
	real, err := Follow(home)
	if err != nil {
		return filepath.Clean(home)
	}
	return real
}

// Shows reports whether the text of a file may be shown, whose path has no links: it is in
// one of the roots, but not in the folder of Git, which may hold a token. Of a root that
// contains the home folder, the hidden files of the home folder are not shown.
func Shows(real string, roots []string) bool {
	root := Holding(real, roots)
	if root == "" {
		return false
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || slices.Contains(elements(rel), ".git") {
		return false
	}
	home := Home()
	if home == "" || !Below(home, root) || !Below(real, home) {
		return true
	}
	rel, err = filepath.Rel(home, real)
	return err == nil && (rel == "." || !strings.HasPrefix(rel, "."))
}

// FS returns the files below dir. Links lead no further than the roots of dir.
func FS(dir string) fs.FS { return files{dir, Roots(dir)} }

// files is a folder whose links may lead elsewhere.
type files struct {
	dir   string
	roots []string
}

// Open implements fs.FS.
func (f files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	real, err := Follow(filepath.Join(f.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(real); err == nil && info.IsDir() && Holding(real, f.roots) != "" {
		return os.Open(real)
	}
	return Open(real, f.roots...)
}
