package disk

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace returns how many bytes this user may still write to the file
// system of dir.
func freeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	size := int64(st.Bsize) //nolint:unconvert // 32 bits on some platforms
	return int64(min(st.Bavail, math.MaxInt64/uint64(size))) * size, nil
}
