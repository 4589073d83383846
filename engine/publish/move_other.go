//go:build !linux

package publish

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func exchange(string, string) error { return errors.ErrUnsupported }

// syncTree writes to disk all that was written to any file system.
func syncTree(*os.File) error { return unix.Sync() }
