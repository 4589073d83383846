package checkpoint

import (
	"io/fs"
	"syscall"
	"time"
)

// stampOf returns the stamp of a file.
func stampOf(info fs.FileInfo) (s stamp, ok bool) {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{sys.Ino, info.Size(), info.ModTime(), time.Unix(sys.Ctim.Unix())}, true
}
