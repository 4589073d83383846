package source

import (
	"io/fs"
	"syscall"
	"time"
)

// statOf returns the file's stat, if the file system is the machine's.
func statOf(info fs.FileInfo) (stat, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stat{}, false
	}
	return stat{time.Unix(s.Ctim.Unix()), int64(s.Dev), int64(s.Ino)}, true //nolint:gosec // compared only
}
