package process

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// readOnly are the folders and files that the command may only read.
func readOnly(mounts []executor.Mount) (paths []string) {
	for _, m := range mounts {
		if m.ReadOnly {
			paths = append(paths, m.Host)
		}
	}
	return paths
}

// protect mounts the paths over themselves, read-only, in a mount namespace of this
// thread and of what it starts. Permissions keep nobody but root from writing, and
// only who may mount can do this: others have the permissions.
func protect(paths []string) error {
	if len(paths) == 0 || os.Geteuid() != 0 || unix.Unshare(unix.CLONE_NEWNS) != nil {
		return nil
	}
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
	for _, path := range paths {
		if err == nil {
			err = bindReadOnly(path)
		}
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return nil // by rules of the machine beyond capabilities
	}
	if err != nil {
		return fmt.Errorf("protect what may only be read: %w", err)
	}
	return nil
}

func bindReadOnly(path string) error {
	if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
		return &os.PathError{Op: "mount", Path: path, Err: err}
	}
	err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if err == unix.ENOSYS {
		err = unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
	}
	if err != nil {
		return &os.PathError{Op: "mount read-only", Path: path, Err: err}
	}
	return nil
}
