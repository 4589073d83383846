package executor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Give makes the user uid:gid the owner of the files in the mounts that the command may
// write to. Files with several names stay unchanged, because they belong to others too.
func Give(mounts []Mount, uid, gid int) error {
	for _, m := range mounts {
		if m.ReadOnly {
			continue
		}
		err := filepath.WalkDir(m.Host, func(path string, d fs.DirEntry, err error) error {
			var st unix.Stat_t
			if err == nil {
				err = unix.Lstat(path, &st)
			}
			if err != nil || !d.IsDir() && st.Nlink > 1 {
				return err
			}
			return os.Lchown(path, uid, gid)
		})
		if err != nil {
			return fmt.Errorf("give the command %s: %w", m.Guest, err)
		}
	}
	return nil
}
