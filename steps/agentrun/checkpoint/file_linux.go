package checkpoint

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Clone returns a file without a name, in dir, that has the present content of src and
// shares its blocks. It returns nil where the file system cannot do that.
func Clone(dir string, src *os.File) *os.File {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil
	}
	to := os.NewFile(uintptr(fd), src.Name())
	if err := unix.IoctlFileClone(fd, int(src.Fd())); err != nil {
		_ = to.Close()
		return nil
	}
	return to
}

// stampOf returns the stamp of a file.
func stampOf(info fs.FileInfo) (s stamp, ok bool) {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{sys.Ino, info.Size(), info.ModTime(), time.Unix(sys.Ctim.Unix())}, true
}
