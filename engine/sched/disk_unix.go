//go:build linux || darwin

package sched

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// DiskSpace returns the space of the file system of a folder, which need not exist yet. Its
// FreeBytes are the Capacity.DiskBytes of steps that work there.
func DiskSpace(dir string) (Space, error) {
	for {
		var s syscall.Statfs_t
		err := syscall.Statfs(dir, &s)
		if err == nil {
			block := int64(s.Bsize) //nolint:unconvert // 32 bits on some platforms
			return Space{FreeBytes: int64(s.Bavail) * block, Bytes: int64(s.Blocks) * block, FreeFiles: int64(s.Ffree), Files: int64(s.Files)}, nil
		}
		up := filepath.Dir(dir)
		if !os.IsNotExist(err) || up == dir {
			return Space{}, fmt.Errorf("measure free disk: %w", &os.PathError{Op: "statfs", Path: dir, Err: err})
		}
		dir = up
	}
}
