package tree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// descent walks a tree of folders down and up again, by names relative to open
// folders. A path may be longer than the kernel accepts, and a tree deeper than
// any stack. It holds one folder open, whatever the depth.
type descent struct {
	// stack has the folders from the top to the open one.
	stack []level
	dir   int // AT_FDCWD outside
	buf   [32 << 10]byte
}

// level is a folder that is being walked.
type level struct {
	name string
	// dev and inode confirm that ".." leads back to it.
	dev, inode uint64
	// folders are subfolders that are still to be walked; more says that there may
	// be others.
	folders []string
	more    bool
	// kept is true if something in the folder could not be removed.
	kept bool
}

// enter opens a subfolder of the open folder and makes it the open one.
func (d *descent) enter(name string) error {
	fd, err := openFolder(d.dir, name)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return err
	}
	d.open(fd)
	d.stack = append(d.stack, level{name: name, dev: st.Dev, inode: st.Ino, more: true})
	return nil
}

func (d *descent) open(fd int) {
	if d.dir >= 0 {
		_ = unix.Close(d.dir)
	}
	d.dir = fd
}

var errMoved = errors.New("it was moved meanwhile")

// leave returns to the parent of the open folder, and returns the folder that
// was left. If somebody has moved folders meanwhile, it fails and everything is
// closed.
func (d *descent) leave() (level, error) {
	top := d.stack[len(d.stack)-1]
	d.stack = d.stack[:len(d.stack)-1]
	if len(d.stack) == 0 {
		d.open(unix.AT_FDCWD)
		return top, nil
	}
	above := &d.stack[len(d.stack)-1]
	fd, err := openFolder(d.dir, "..")
	if err == nil {
		d.open(fd)
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil && (st.Dev != above.dev || st.Ino != above.inode) {
			err = errMoved
		}
	}
	if err != nil {
		d.open(unix.AT_FDCWD)
	}
	return top, err
}

// names returns some of the names in the open folder, none at its end.
func (d *descent) names() ([]string, error) {
	for {
		n, err := unix.Getdents(d.dir, d.buf[:])
		names := direntNames(d.buf[:max(n, 0)])
		switch {
		case err == unix.EINTR:
		case err == unix.ENOENT: // somebody else has removed the folder
			return nil, nil
		case err != nil || n == 0 || len(names) > 0:
			return names, err
		}
	}
}

// openFolder opens a folder of the same file system, after giving its owner the
// missing permissions.
func openFolder(dir int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := openIn(dir, name, flags)
	if err != nil && err != unix.EACCES {
		return -1, err
	}
	if err == nil {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&0o700 != 0o700 {
			_ = unix.Fchmod(fd, st.Mode&0o7777|0o700) // refused for a folder of another user, which root can read anyway
		}
		return fd, nil
	}
	// A folder that cannot be opened for reading can still be opened as a path,
	// whose mode can be changed.
	path, err := openIn(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(path)
	if err := os.Chmod(fmt.Sprintf("/proc/self/fd/%d", path), 0o700); err != nil {
		return -1, err
	}
	return openIn(dir, name, flags)
}

// openIn opens name. It crosses no mount point, if the kernel can check that.
func openIn(dir int, name string, flags int) (int, error) {
	if dir >= 0 && name != ".." {
		fd, err := unix.Openat2(dir, name, &unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS})
		if err != unix.ENOSYS && err != unix.EPERM {
			return fd, err
		}
	}
	return unix.Openat(dir, name, flags, 0)
}

// direntNames returns the names in a buffer of directory entries (struct
// linux_dirent64), except "." and "..".
func direntNames(buf []byte) (names []string) {
	const lengthAt, nameAt = 16, 19
	for len(buf) > nameAt {
		length := int(binary.NativeEndian.Uint16(buf[lengthAt:]))
		name := buf[nameAt:length]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		buf = buf[length:]
		if s := string(name); s != "." && s != ".." {
			names = append(names, s)
		}
	}
	return names
}
