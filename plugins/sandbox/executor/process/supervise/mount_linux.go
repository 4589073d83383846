package supervise

import (
	"errors"
	"os"
	"syscall"
)

// protect mounts the paths over themselves, read-only, in a mount namespace of this
// thread and its children. Only users who may mount can do that. They need it, because
// permissions do not prevent root from writing; for other users, permissions suffice.
func protect(paths []string) error {
	if len(paths) == 0 || os.Geteuid() != 0 || syscall.Unshare(syscall.CLONE_NEWNS) != nil {
		return nil
	}
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, "")
	for _, path := range paths {
		if err == nil {
			err = bindReadOnly(path)
		}
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return nil // forbidden by rules other than capabilities
	}
	if err != nil {
		return os.NewSyscallError("protect what may only be read", err)
	}
	return nil
}

func bindReadOnly(path string) error {
	if err := syscall.Mount(path, path, "", syscall.MS_BIND, ""); err != nil {
		return &os.PathError{Op: "mount", Path: path, Err: err}
	}
	err := setReadOnly(path)
	if err == syscall.ENOSYS {
		err = syscall.Mount("", path, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")
	}
	if err != nil {
		return &os.PathError{Op: "mount read-only", Path: path, Err: err}
	}
	return nil
}
