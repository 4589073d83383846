//go:build unix && !linux

package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

// names lists an open folder.
func (s *stamper) names(fd int) ([]string, error) {
	own, err := unix.Dup(fd) // the file closes it
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(own), "")
	defer f.Close()
	return f.Readdirnames(-1)
}
