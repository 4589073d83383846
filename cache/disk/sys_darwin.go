package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// clone makes path, a file that shares the blocks of src, where the file
// system can (APFS).
func clone(src *os.File, path string) error {
	return unix.Fclonefileat(int(src.Fd()), unix.AT_FDCWD, path, 0)
}

// writeOut hands a file to the disk, which may keep it in its own memory until
// syncFileSystem.
func writeOut(f *os.File) error { return unix.Fsync(int(f.Fd())) }

// syncFileSystem has the disk write everything that it was handed.
func syncFileSystem(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_FULLFSYNC, 0)
	return err
}

// readFromDisk keeps what is read from now on out of memory.
func readFromDisk(f *os.File) { _, _ = unix.FcntlInt(f.Fd(), unix.F_NOCACHE, 1) }

// systemBootID returns what changes whenever the machine starts, or "".
func systemBootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
