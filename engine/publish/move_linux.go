package publish

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange replaces the content at to by the content at from, atomically if the
// file system supports it. aside is a path for the old content.
func exchange(from, to, aside string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return inTwoSteps(from, to, aside)
	}
	return moved(from, to, err)
}

// moveNew moves a file or folder to a path that is free or an empty folder.
func moveNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EEXIST) { // an empty folder may be replaced
		if err := unix.Rmdir(to); err != nil {
			return moved(from, to, err)
		}
		err = unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return os.Rename(from, to)
	}
	return moved(from, to, err)
}

func moved(from, to string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
