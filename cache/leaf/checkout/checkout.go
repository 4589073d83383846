package checkout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// The reasons for refusing a path.
var (
	ErrKernel  = errors.New("/proc, /sys and /dev belong to the machine, and are no inputs: write what is needed to a file of the pipeline's folder")
	ErrSpecial = errors.New("it is not a regular file")
	ErrOutside = errors.New("it leads out of its folder and repository")
)

// maxLinks is the maximum number of symbolic links on the way to one path.
const maxLinks = 40

// Follow returns the absolute path of a file or folder without symbolic links. Unlike
// filepath.EvalSymlinks it never looks into the kernel's folders, not even on the way.
func Follow(path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	refuse := func(err error) error { return &fs.PathError{Op: "open", Path: path, Err: err} }
	todo, done := elements(whole), "/"
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, part)
		if kernels(next) {
			return "", refuse(ErrKernel)
		}
		target, err := os.Readlink(next)
		switch {
		case errors.Is(err, syscall.EINVAL): // no link
			done = next
			continue
		case err != nil:
			return "", refuse(errors.Unwrap(err))
		}
		if links++; links > maxLinks {
			return "", refuse(syscall.ELOOP)
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		todo = append(elements(target), todo...)
	}
	if done == "/dev" {
		return "", refuse(ErrKernel)
	}
	return done, nil
}

func elements(path string) []string { return strings.Split(path, string(filepath.Separator)) }

// kernels reports whether a path is in a folder of the kernel. /dev/shm has files of
// users.
func kernels(path string) bool {
	return Below(path, "/proc") || Below(path, "/sys") || Below(path, "/dev") && path != "/dev" && !Below(path, "/dev/shm")
}

// Below reports whether path is dir or below it.
func Below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Open opens the regular file to which a path leads. If folders are given, which have no
// links themselves, the file must be in one of them. It waits for no pipe.
func Open(path string, folders ...string) (*os.File, error) {
	real, err := Follow(path)
	if err != nil {
		return nil, err
	}
	refuse := func(err error) error { return &fs.PathError{Op: "open", Path: path, Err: err} }
	if len(folders) > 0 && Holding(real, folders) == "" {
		return nil, refuse(ErrOutside)
	}
	if info, err := os.Lstat(real); err != nil || !info.Mode().IsRegular() { // a device may act when opened
		return nil, errors.Join(err, refuse(ErrSpecial))
	}
	f, err := os.OpenFile(real, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = refuse(ErrSpecial)
	case err == nil && madeByKernel(f):
		err = refuse(ErrKernel)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Holding returns the first folder that contains a path, or "".
func Holding(path string, folders []string) string {
	for _, dir := range folders {
		if Below(path, dir) {
			return dir
		}
	}
	return ""
}

// ReadFile returns the content of a file that Open opens. A file of more than limit
// bytes is an error.
func ReadFile(path string, limit int64, folders ...string) ([]byte, error) {
	f, err := Open(path, folders...)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has more than %d bytes", limit)}
	}
	return data, err
}

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
