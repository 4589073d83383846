// Package nolink opens files in a folder that others may be able to write to, such
// as a shared cache, or a user's cache when root runs. It follows no symbolic link,
// waits for no pipe, and opens only regular files. Paths must start with one that
// Folder returned; the folders above it are trusted.
package nolink

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrForeign means that a path does not lead to a regular file, or does so only
// through a symbolic link: somebody else put it there.
var ErrForeign = errors.New("mleflow made no such file; look who put it there, and remove it")

// Folder returns the absolute path of a folder without symbolic links. Elements
// that do not exist yet, or cannot be followed, are left as they are.
func Folder(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		return real
	}
	if above := filepath.Dir(dir); above != dir {
		return filepath.Join(Folder(above), filepath.Base(dir))
	}
	return dir
}

// Open is os.Open.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// Create is os.Create.
func Create(path string) (*os.File, error) {
	return OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// OpenFile is os.OpenFile.
func OpenFile(path string, flags int, mode fs.FileMode) (*os.File, error) {
	grouped := flags&os.O_CREATE != 0 && mode&0o070 != 0
	open := open
	if grouped {
		open = openGrouped
	}
	f, err := open(path, flags, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = foreign("open", path, "is "+Kind(info.Mode()))
	case grouped && Grouped(info.Mode()) != info.Mode() && Shared(filepath.Dir(path)):
		err = grant(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenDir is os.Open for a folder.
func OpenDir(path string) (*os.File, error) { return open(path, openDir, 0) }

// ReadFile is os.ReadFile.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// CreateTemp makes a file in a folder whose name starts with prefix.
func CreateTemp(dir, prefix string) (*os.File, error) {
	for {
		f, err := OpenFile(filepath.Join(dir, prefix+strconv.FormatUint(rand.Uint64(), 36)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// WriteFile creates or replaces a file as a whole or not at all. With sync, the
// bytes are on disk before the file gets its name, and the name is afterwards.
func WriteFile(path string, data []byte, mode fs.FileMode, sync bool) error {
	f, err := CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = Chmod(f, mode)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil && sync {
		err = SyncDir(filepath.Dir(path))
	}
	return err
}

// SyncDir writes the names in a folder to disk, on file systems that can do that.
func SyncDir(dir string) error {
	f, err := OpenDir(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}

// IsAt reports whether path still names the open file.
func IsAt(f *os.File, path string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, named), err
}

// Check refuses folders below dir, by their names, that are not folders themselves.
func Check(dir string, names ...string) error {
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err == nil && !info.IsDir() {
			return foreign("open folder", path, "is "+Kind(info.Mode()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Writers says why users other than this one and root may write to a file or folder, as
// half a sentence, or returns "".
func Writers(info fs.FileInfo) string {
	if uid, _ := Owner(info); uid > 0 && uid != os.Geteuid() {
		return fmt.Sprintf("belongs to user %d", uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return "can be written by other users"
	}
	return ""
}

func foreign(op, path, what string) error {
	return &fs.PathError{Op: op, Path: path, Err: fmt.Errorf("it %s: %w", what, ErrForeign)}
}

// Kind names the type of a file, with an article.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode.IsRegular():
		return "a file"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

const openDir = unix.O_RDONLY | unix.O_DIRECTORY

// open opens a file without following links and without waiting. Where the system
// cannot say that of the whole path, it holds for its last name.
func open(path string, flags int, mode os.FileMode) (*os.File, error) {
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	var fd int
	var err error
	for err = unix.EINTR; err == unix.EINTR; {
		fd, err = openWhole(path, flags, uint32(mode.Perm()))
	}
	switch {
	case err == nil:
		_ = unix.SetNonblock(fd, false)
		return os.NewFile(uintptr(fd), path), nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK):
		return nil, foreign("open", path, "is, or is reached by, a symbolic link")
	case errors.Is(err, unix.ENXIO):
		return nil, foreign("open", path, "is a named pipe, socket or device")
	case errors.Is(err, unix.EISDIR):
		return nil, foreign("open", path, "is a folder")
	}
	return nil, &os.PathError{Op: "open", Path: path, Err: err}
}
