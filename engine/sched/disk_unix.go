//go:build linux || darwin

package sched

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// FreeDisk returns the number of bytes that can be written to the file system
// of a folder, which need not exist yet. Use it for the Capacity.DiskBytes of
// steps that work there.
func FreeDisk(dir string) (int64, error) {
	s, err := statfs(dir)
	return int64(s.Bavail) * int64(s.Bsize), err
}

// FreeFiles returns the number of files that can be created on the file system
// of a folder, or 0 if there is no limit.
func FreeFiles(dir string) (int64, error) {
	s, err := statfs(dir)
	return int64(s.Ffree), err
}

func statfs(dir string) (s syscall.Statfs_t, err error) {
	for {
		if err = syscall.Statfs(dir, &s); err == nil {
			return s, nil
		}
		up := filepath.Dir(dir)
		if !os.IsNotExist(err) || up == dir {
			return s, fmt.Errorf("measure free disk: %w", &os.PathError{Op: "statfs", Path: dir, Err: err})
		}
		dir = up
	}
}
