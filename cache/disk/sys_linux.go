//go:build !portable

package disk

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
)

// futimens sets both times of an open file.
func futimens(f *os.File, ts unix.Timespec) error {
	times := [2]unix.Timespec{ts, ts}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, f.Fd(), 0, uintptr(unsafe.Pointer(&times[0])), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// canUnnamed is true because most file systems can have files without a name.
const canUnnamed = true

// openUnnamed creates a file without a name in a folder below dir, with the mode of
// an object as far as the umask permits.
func openUnnamed(dir *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_TMPFILE|unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return nil, &os.PathError{Op: "open temporary file in", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name+"/(unnamed)"), nil
}

// noEmptyPath is set once the kernel has refused to link open files directly
// (AT_EMPTY_PATH).
var noEmptyPath atomic.Bool

// linkFile gives an open file a (further) name in the folder dir.
func linkFile(f *os.File, dir int, name string) error {
	fd := int(f.Fd())
	if !noEmptyPath.Load() {
		err := unix.Linkat(fd, "", dir, name, unix.AT_EMPTY_PATH)
		// ENOENT may also mean that this process lacks the permission.
		if err != unix.ENOENT && err != unix.EPERM && err != unix.EINVAL {
			return err
		}
	}
	err := unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), dir, name, unix.AT_SYMLINK_FOLLOW)
	if err == nil {
		noEmptyPath.Store(true)
	}
	return err
}

// masksObjects reports whether the umask removes permissions that objects have.
func masksObjects() bool {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(data), "\nUmask:")
	line, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(strings.TrimSpace(line), 8, 32)
	return err != nil || mask&0o444 != 0
}

// reserveBlocks makes sure that the first size bytes of f have blocks.
func reserveBlocks(f *os.File, size int64) error {
	return unix.Fallocate(int(f.Fd()), 0, 0, size)
}

var direntBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// eachName calls fn with the names in an open folder and the inodes that it lists
// for them, in no particular order. fn must not keep the name.
func eachName(dir *os.File, fn func(name []byte, inode uint64)) error {
	pooled := direntBuffers.Get().(*[64 << 10]byte)
	defer direntBuffers.Put(pooled)
	buf := pooled[:]
	for {
		n, err := unix.Getdents(int(dir.Fd()), buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return os.NewSyscallError("getdents", err)
		}
		for rest := buf[:n]; len(rest) > direntName; {
			length := int(binary.NativeEndian.Uint16(rest[direntLength:]))
			name := rest[direntName:length]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			if string(name) != "." && string(name) != ".." {
				fn(name, binary.NativeEndian.Uint64(rest))
			}
			rest = rest[length:]
		}
	}
}

// The offsets of the fields of a directory entry (struct linux_dirent64) after the
// inode.
const (
	direntLength = 16
	direntName   = 19
)

// clone creates path as a file that shares the blocks of src, if the file
// system can do that.
func clone(src *os.File, path string) error {
	dst, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer dst.Close()
	if err = unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())); err != nil {
		os.Remove(path)
	}
	return err
}

// writeOut does nothing here: syncFileSystem writes the file.
func writeOut(*os.File) error { return nil }

// readFromDisk drops the file from the page cache.
func readFromDisk(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }

// syncFileSystem writes everything that is in memory to the file system of f.
func syncFileSystem(f *os.File) error { return unix.Syncfs(int(f.Fd())) }

// systemBootID returns a value that changes with every boot, or "".
func systemBootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// lockPlace waits for a lock on one byte of a file, which belongs to this open
// file only.
func (c *folder) lockPlace(ctx context.Context, at int64) (unlock func(), err error) {
	f, err := c.openLock("actions")
	if err != nil {
		return nil, err
	}
	if err := poll(ctx, func() (bool, error) { return tryPlace(f, at) }); err != nil {
		f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// tryPlace reports whether it got the lock without waiting.
func tryPlace(f *os.File, at int64) (bool, error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: at, Len: 1}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock)
	if err == unix.EAGAIN || err == unix.EACCES {
		return false, nil
	}
	return err == nil, err
}

// renameNew renames a file to a name that is free.
func renameNew(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}

// topFolder is the flag FS_TOPDIR_FL.
const topFolder = 0x20000

// scatter tells ext4 that the folders in dir have nothing to do with each other. It then
// spreads them over the disk. Otherwise it would look for a free inode among all those
// that the work folders before left, and without a journal it reads every one that was
// removed in the last minutes.
func scatter(dir string) {
	f, err := nolink.OpenDir(dir)
	if err != nil {
		return
	}
	defer f.Close()
	if flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS); err == nil {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags|topFolder)
	}
}

// spreadObjects creates the folder of the objects apart from other folders (see
// scatter), if it can. ext4 chooses the place by the first name, which is therefore
// random: a new cache is not put where one was just removed. It never replaces the folder
// that another process made meanwhile and may have opened.
func spreadObjects(dir string) {
	tmp := filepath.Join(dir, tmpName)
	apart := filepath.Join(tmp, rand.Text())
	_ = nolink.Mkdir(tmp, 0o777)
	scatter(tmp)
	if nolink.Mkdir(apart, 0o777) == nil && unix.Renameat2(unix.AT_FDCWD, apart, unix.AT_FDCWD, filepath.Join(dir, objectsName), unix.RENAME_NOREPLACE) != nil {
		_ = os.Remove(apart)
	}
}
