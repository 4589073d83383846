//go:build linux || darwin

package sched

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// FreeDisk returns the bytes that may be written to the file system of a
// folder, which need not exist yet: what Capacity.DiskBytes should be for
// steps that work there.
func FreeDisk(dir string) (int64, error) {
	for {
		var s syscall.Statfs_t
		err := syscall.Statfs(dir, &s)
		if err == nil {
			return int64(s.Bavail) * int64(s.Bsize), nil
		}
		up := filepath.Dir(dir)
		if !os.IsNotExist(err) || up == dir {
			return 0, fmt.Errorf("measure free disk: %w", &os.PathError{Op: "statfs", Path: dir, Err: err})
		}
		dir = up
	}
}
