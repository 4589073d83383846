package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// clone creates path as a file that shares the blocks of src, if the file
// system can do that (APFS).
func clone(src *os.File, path string) error {
	return unix.Fclonefileat(int(src.Fd()), unix.AT_FDCWD, path, 0)
}

// writeOut sends a file to the disk, which may keep it in its own cache until
// syncFileSystem.
func writeOut(f *os.File) error { return unix.Fsync(int(f.Fd())) }

// syncFileSystem makes the disk write everything that it was sent.
func syncFileSystem(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_FULLFSYNC, 0)
	return err
}

// readFromDisk bypasses the page cache for reads from now on.
func readFromDisk(f *os.File) { _, _ = unix.FcntlInt(f.Fd(), unix.F_NOCACHE, 1) }

// systemBootID returns a value that changes with every boot, or "".
func systemBootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
