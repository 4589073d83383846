package tree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Remove removes path and everything below it, whatever an agent left there:
// folders without permissions, folders in each other to any depth, immutable
// files. It follows no links and enters no other file system, and goes on after
// an entry that it cannot remove. That path is not there is no error.
func Remove(path string) error {
	r := remover{path: path}
	r.remove()
	if r.err != nil {
		return fmt.Errorf("remove %s: %w", path, r.err)
	}
	return nil
}

// remover walks down and up again by names relative to open folders: a path may
// be longer than the kernel takes, and a tree deeper than any stack. It holds one
// folder open, whatever the depth.
type remover struct {
	path string
	// stack are the folders from the top to the open one.
	stack []removedFolder
	dir   int // AT_FDCWD outside
	buf   [32 << 10]byte
	err   error
}

// removedFolder is a folder that is being emptied.
type removedFolder struct {
	name string
	// dev and inode tell that ".." leads back to it.
	dev, inode uint64
	// folders are those found in it that are not empty, as far as it was read;
	// more says that there may be others.
	folders []string
	more    bool
	// kept says that something in it could not be removed.
	kept bool
}

// folderBatch bounds the names of one folder that are held at a time.
const folderBatch = 4096

// note keeps the first error.
func (r *remover) note(what, name string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%s %q: %w", what, name, err)
	}
	if len(r.stack) > 0 {
		r.stack[len(r.stack)-1].kept = true
	}
}

func (r *remover) remove() {
	r.dir = unix.AT_FDCWD
	if r.unlink(r.path) || !r.enter(r.path) {
		return
	}
	for len(r.stack) > 0 {
		top := &r.stack[len(r.stack)-1]
		switch {
		case len(top.folders) > 0:
			name := top.folders[len(top.folders)-1]
			top.folders = top.folders[:len(top.folders)-1]
			r.enter(name)
		case top.more:
			r.read(top)
		case !r.leave():
			return
		}
	}
}

// enter opens a folder in the open one and makes it the open one.
func (r *remover) enter(name string) bool {
	fd, err := openFolder(r.dir, name)
	if err != nil {
		r.note("open", name, err)
		return false
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		r.note("look at", name, err)
		return false
	}
	r.open(fd)
	r.stack = append(r.stack, removedFolder{name: name, dev: st.Dev, inode: st.Ino, more: true})
	return true
}

func (r *remover) open(fd int) {
	if r.dir >= 0 {
		_ = unix.Close(r.dir)
	}
	r.dir = fd
}

// leave goes back to the folder above and removes the one that was left. It is
// false where the way back is lost, which takes somebody who moves folders
// meanwhile.
func (r *remover) leave() bool {
	top := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	if len(r.stack) == 0 {
		r.open(unix.AT_FDCWD)
	} else {
		above := &r.stack[len(r.stack)-1]
		fd, err := openFolder(r.dir, "..")
		var st unix.Stat_t
		if err == nil {
			if err = unix.Fstat(fd, &st); err == nil && (st.Dev != above.dev || st.Ino != above.inode) {
				err = errors.New("it was moved away while it was removed")
			}
			r.open(fd)
		}
		if err != nil {
			r.note("leave", top.name, err)
			r.open(unix.AT_FDCWD)
			return false
		}
	}
	if top.kept {
		if len(r.stack) > 0 {
			r.stack[len(r.stack)-1].kept = true
		}
	} else if err := r.tryUnlink(top.name, unix.AT_REMOVEDIR); err != nil {
		r.note("remove folder", top.name, err)
	}
	return true
}

// read removes what is no folder, and the empty folders, and lists the others.
// Entries can be missed while others of the folder are removed, so it is read
// until nothing is found; once something stays for good, one more time.
func (r *remover) read(top *removedFolder) {
	last := top.kept
	top.more = false
	if _, err := unix.Seek(r.dir, 0, 0); err != nil {
		r.note("read", top.name, err)
		return
	}
	found := false
	for last || len(top.folders) < folderBatch {
		n, err := unix.Getdents(r.dir, r.buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			r.note("read", top.name, err)
			return
		}
		if n == 0 {
			break
		}
		for name := range direntNames(r.buf[:n]) {
			if r.unlink(name) {
				found = true
			} else {
				top.folders = append(top.folders, name)
			}
		}
	}
	top.more = !last && (found || len(top.folders) > 0)
}

// unlink removes an entry that is no folder with something in it, and reports
// whether that was all there is to do.
func (r *remover) unlink(name string) bool {
	err := r.tryUnlink(name, 0)
	if err == unix.EISDIR || err == unix.EPERM && r.isFolder(name) {
		if err = r.tryUnlink(name, unix.AT_REMOVEDIR); err != nil {
			return false
		}
	}
	if err != nil {
		r.note("remove", name, err)
	}
	return true
}

func (r *remover) isFolder(name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(r.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// tryUnlink removes an entry; that there is none is fine.
func (r *remover) tryUnlink(name string, flags int) error {
	err := unix.Unlinkat(r.dir, name, flags)
	if err == unix.EPERM && r.thaw(name) {
		err = unix.Unlinkat(r.dir, name, flags)
	}
	if err == unix.ENOENT {
		return nil
	}
	return err
}

// thaw takes the attributes away that forbid removing, which root may set.
func (r *remover) thaw(name string) bool {
	thawed := r.dir >= 0 && thawOpen(r.dir)
	fd, err := unix.Openat(r.dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return thawed
	}
	defer unix.Close(fd)
	return thawOpen(fd) || thawed
}

func thawOpen(fd int) bool {
	const fixed = unix.STATX_ATTR_IMMUTABLE | unix.STATX_ATTR_APPEND // which have the bits of FS_IMMUTABLE_FL and FS_APPEND_FL
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if err != nil || flags&fixed == 0 {
		return false
	}
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags&^fixed) == nil
}

// openFolder opens a folder of the same file system, after giving its owner the
// permissions that are missing.
func openFolder(dir int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := openIn(dir, name, flags)
	if err != nil && err != unix.EACCES {
		return -1, err
	}
	if err == nil {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&0o700 != 0o700 {
			_ = unix.Fchmod(fd, st.Mode&0o7777|0o700) // refused where it is another's, to whom root may do it anyway
		}
		return fd, nil
	}
	// A folder that cannot be opened for reading can still be named, and what is
	// named changed.
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

// openIn opens name, crossing no mount point where the kernel can tell.
func openIn(dir int, name string, flags int) (int, error) {
	if dir >= 0 && name != ".." {
		fd, err := unix.Openat2(dir, name, &unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS})
		if err != unix.ENOSYS && err != unix.EPERM {
			return fd, err
		}
	}
	return unix.Openat(dir, name, flags, 0)
}

// direntNames yields the names in a buffer of directory entries (struct
// linux_dirent64), but for "." and "..".
func direntNames(buf []byte) func(yield func(string) bool) {
	const lengthAt, nameAt = 16, 19
	return func(yield func(string) bool) {
		for len(buf) > nameAt {
			length := int(binary.NativeEndian.Uint16(buf[lengthAt:]))
			name := buf[nameAt:length]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			buf = buf[length:]
			if s := string(name); s != "." && s != ".." && !yield(s) {
				return
			}
		}
	}
}
