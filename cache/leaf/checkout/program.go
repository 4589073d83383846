package checkout

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Program finds a program in PATH that is the machine's or the user's. It passes over
// entries that are relative, and programs in the working folder or the given folders:
// a repository may have brought them along. The home folder and what contains it are no
// repository.
func Program(name string, folders ...string) (string, error) {
	if filepath.Base(name) != name {
		return "", fmt.Errorf("%s: not the name of a program", name)
	}
	passed := ""
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if found, err := exec.LookPath(path); !filepath.IsAbs(dir) || err != nil || found != path {
			continue
		}
		if Brought(path, folders...) {
			passed = fmt.Sprintf(", except %s, which may be a repository's", path)
			continue
		}
		return path, nil
	}
	return "", fmt.Errorf("%s: %w%s", name, exec.ErrNotFound, passed)
}

// Brought reports whether a repository may have brought a program along: it is, by its
// path or without links, in the working folder or in one of the folders.
func Brought(path string, folders ...string) bool {
	if work, err := os.Getwd(); err == nil {
		folders = append(slices.Clone(folders), work)
	}
	home := Home()
	for _, dir := range folders {
		real, err := Follow(dir)
		if err != nil || real == "/" || home != "" && Below(home, real) {
			continue
		}
		for _, root := range Roots(real) {
			at, err := Follow(path)
			if err != nil || Below(at, root) || Below(filepath.Clean(path), root) {
				return true
			}
		}
	}
	return false
}
