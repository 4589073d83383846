package nolink

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

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
