package machine

import (
	"os"

	"golang.org/x/sys/unix"
)

// diskSpace returns the bytes that are free for this user and the size of the
// file system that holds dir.
func diskSpace(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	return int64(st.Bavail) * st.Bsize, int64(st.Blocks) * st.Bsize, nil
}

// reflink makes dst share the blocks of src.
func reflink(src, dst string) error {
	from, err := os.Open(src)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Create(dst)
	if err != nil {
		return err
	}
	defer to.Close()
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
}
