//go:build !linux

package publish

import (
	"errors"

	"golang.org/x/sys/unix"
)

func exchange(string, string) error { return errors.ErrUnsupported }

// syncContent writes to disk all that was written to any file system.
func syncContent(string) error { return unix.Sync() }
