package nolink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Closed adds to an error about the rights to a file or folder of another user, or the
// folder around a file that cannot be seen, whose it is and the command by which they open
// it.
func Closed(err error, path, command string) error {
	info, statErr := os.Lstat(path)
	if errors.Is(statErr, fs.ErrPermission) {
		path = filepath.Dir(path)
		info, statErr = os.Lstat(path)
	}
	if statErr != nil || IsMine(path) || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	uid, _ := Owner(info)
	return fmt.Errorf("%w: %s belongs to user %d (%s), who or root opens it: %s %s", err, path, uid, UserName(uid), command, path)
}

// ShareAll gives the group the owner's rights to a folder of this user and everything in
// it, if the folder around it is shared. Nobody else gets any.
func ShareAll(dir string) error {
	if !Shared(filepath.Dir(dir)) {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil || Grouped(info.Mode()) == info.Mode() {
			return err
		}
		return os.Chmod(path, Grouped(info.Mode()))
	})
}
