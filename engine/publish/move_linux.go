package publish

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange exchanges two files or folders of one folder at once.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL): // of the file system
		return errors.ErrUnsupported
	}
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
}

// syncTree writes to disk all that was written to the file system of a folder.
func syncTree(dir *os.File) error {
	return os.NewSyscallError("syncfs", unix.Syncfs(int(dir.Fd())))
}
