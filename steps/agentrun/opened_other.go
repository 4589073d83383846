//go:build !linux

package agentrun

import (
	"errors"
	"io/fs"
)

// openWatch does nothing on this system.
type openWatch struct{}

func newOpenWatch() (openWatch, error) { return openWatch{}, errors.ErrUnsupported }

func (openWatch) add(string, string) error { return nil }

func (openWatch) run() func() map[string]bool { return func() map[string]bool { return nil } }

func inode(fs.FileInfo) uint64 { return 0 }
