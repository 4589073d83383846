package tree

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Remove removes path and everything below it, whatever an agent left there:
// folders without permissions, folders nested to any depth, immutable files. It
// follows no links and enters no other file system, and continues after an
// entry that it cannot remove. A path that does not exist is not an error.
func Remove(path string) error {
	r := remover{descent: descent{dir: unix.AT_FDCWD}, path: path}
	r.remove()
	if r.err != nil {
		return fmt.Errorf("remove %s: %w", path, r.err)
	}
	return nil
}

// remover is a descent that removes what it finds.
type remover struct {
	descent
	path string
	err  error
}

// folderBatch limits how many names of one folder are held at a time.
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

// enter enters a subfolder of the open folder.
func (r *remover) enter(name string) bool {
	err := r.descent.enter(name)
	if err != nil && err != unix.ENOENT { // somebody else has removed it
		r.note("open", name, err)
	}
	return err == nil
}

// leave returns to the parent folder and removes the folder that was left. It
// returns false if the way back is lost.
func (r *remover) leave() bool {
	top, err := r.descent.leave()
	if err != nil {
		r.note("leave", top.name, err)
		return false
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

// read removes everything that is not a folder, and empty folders, and lists
// the others. Removing entries can make readdir miss others, so the folder is
// read until nothing is found or, if something cannot be removed, one more
// time.
func (r *remover) read(top *level) {
	last := top.kept
	top.more = false
	if _, err := unix.Seek(r.dir, 0, 0); err != nil {
		r.note("read", top.name, err)
		return
	}
	found := false
	for last || len(top.folders) < folderBatch {
		names, err := r.names()
		if err != nil {
			r.note("read", top.name, err)
			return
		}
		if len(names) == 0 {
			break
		}
		for _, name := range names {
			if r.unlink(name) {
				found = true
			} else {
				top.folders = append(top.folders, name)
			}
		}
	}
	top.more = !last && (found || len(top.folders) > 0)
}

// unlink removes a file or an empty folder, and reports whether nothing is left
// to do.
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

// tryUnlink removes an entry; a missing one is fine.
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

// thaw clears the attributes that forbid removal. Only root can set and clear
// them.
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
	const fixed = unix.STATX_ATTR_IMMUTABLE | unix.STATX_ATTR_APPEND // this field has the bits FS_IMMUTABLE_FL and FS_APPEND_FL
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if err != nil || flags&fixed == 0 {
		return false
	}
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags&^fixed) == nil
}
