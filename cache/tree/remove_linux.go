package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/lists"
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

// walk reads, enters and leaves all folders below the open one, and leaves it.
func (d *descent) walk(read func(*level), enter func(name string), leave func() error) error {
	for len(d.stack) > 0 {
		top := &d.stack[len(d.stack)-1]
		switch n := len(top.folders); {
		case n > 0:
			name := top.folders[n-1]
			top.folders = top.folders[:n-1]
			enter(name)
		case top.more:
			read(top)
		default:
			if err := leave(); err != nil {
				return err
			}
		}
	}
	return nil
}

// names returns some of the names in the open folder, none at its end.
func (d *descent) names() ([]string, error) {
	for {
		n, err := unix.Getdents(d.dir, d.buf[:])
		_, _, names := unix.ParseDirent(d.buf[:max(n, 0)], -1, nil)
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

// Measure returns the space taken by path and everything below it. Each file
// counts with its size or its blocks, whichever is more, so that holes count as
// the bytes that a reader gets. A file with several names counts once. It
// follows no links and enters no other file system; folders that cannot be read
// are made readable. Files that change meanwhile count as they are seen. A path
// that does not exist is not an error.
func Measure(path string) (int64, error) {
	m := measure{descent: descent{dir: unix.AT_FDCWD}, linked: map[[2]uint64]bool{}}
	if err := m.whole(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m.bytes, fmt.Errorf("measure %s: %w", path, err)
	}
	return m.bytes, nil
}

type measure struct {
	descent
	// linked are the files with several names.
	linked map[[2]uint64]bool
	bytes  int64
}

func (m *measure) whole(path string) error {
	if !m.add(path) {
		return nil
	}
	if err := m.enter(path); err != nil {
		return err
	}
	enter := func(name string) { _ = m.enter(name) } // a removed file takes no space
	return m.walk(m.read, enter, func() error {
		_, err := m.leave()
		return err
	})
}

// read adds the entries of the open folder.
func (m *measure) read(top *level) {
	top.more = false
	for {
		names, err := m.names()
		if err != nil || len(names) == 0 {
			return
		}
		top.folders = append(top.folders, lists.Where(names, m.add)...)
	}
}

// add adds an entry of the open folder and reports whether it is a folder.
func (m *measure) add(name string) bool {
	var st unix.Stat_t
	if unix.Fstatat(m.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	id := [2]uint64{st.Dev, st.Ino}
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFDIR && st.Nlink > 1 {
		if m.linked[id] {
			return false
		}
		m.linked[id] = true
	}
	bytes := st.Blocks * 512
	if kind == unix.S_IFREG {
		bytes = max(bytes, st.Size)
	}
	m.bytes += bytes
	return kind == unix.S_IFDIR
}

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
	if !r.unlink(r.path) {
		r.enter(r.path)
		_ = r.walk(r.read, r.enter, r.leave) // noted
	}
}

// enter enters a subfolder of the open folder.
func (r *remover) enter(name string) {
	if err := r.descent.enter(name); err != nil && err != unix.ENOENT { // somebody else has removed it
		r.note("open", name, err)
	}
}

// leave returns to the parent folder and removes the folder that was left. It fails if
// the way back is lost.
func (r *remover) leave() error {
	top, err := r.descent.leave()
	if err != nil {
		r.note("leave", top.name, err)
		return err
	}
	if top.kept {
		if len(r.stack) > 0 {
			r.stack[len(r.stack)-1].kept = true
		}
	} else if err := r.tryUnlink(top.name, unix.AT_REMOVEDIR); err != nil {
		r.note("remove folder", top.name, err)
	}
	return nil
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
