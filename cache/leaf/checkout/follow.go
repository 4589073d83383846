package checkout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
