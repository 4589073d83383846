package first

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"syscall"
)

// world is the guest's file system under construction, in the mount namespace of the
// first process.
type world struct {
	plan *Plan
	// held names the mechanisms that were used for parts of it.
	held map[string]string
	// sources are the files and folders of the host to mount. They are opened before
	// anything can hide them.
	sources map[Text]*os.File
	// empty is an empty folder, which a view needs as its second layer.
	empty *os.File
	// viewed are the kernel's files that are replaced in the guest.
	viewed map[string]view
	// memory are the paths of file systems in memory.
	memory []string
}

const (
	plainFlags = syscall.MS_NOSUID | syscall.MS_NODEV
	// readOnly are the attributes of a mount that the guest can only read.
	readOnly = attrReadOnly | attrNoSUID | attrNoDev
	// baseBytes limits the files that are added to the image's: mount points, and texts
	// that are mounted over the image's files.
	baseBytes = 16 << 20
	// textBytes limits all texts together; the kernel's description of a processor is
	// long.
	textBytes = 16 << 20
)

// make builds the world and moves this process into it.
func (w *world) make() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("have mounts of its own: %w", err)
	}
	if err := w.openSources(); err != nil {
		return err
	}
	old, err := os.Open("/")
	if err != nil {
		return err
	}
	defer old.Close()
	if err := w.enter(); err != nil {
		return err
	}
	for _, step := range []func() error{w.kernel, w.devices, w.temporary, w.texts, w.mounts, w.links, w.settle} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := errors.Join(old.Chdir(), syscall.Unmount(".", syscall.MNT_DETACH), syscall.Chdir("/")); err != nil {
		return fmt.Errorf("leave the host's files: %w", err)
	}
	for _, f := range w.sources {
		f.Close()
	}
	return w.empty.Close()
}

// openSources opens the sources of mounts on the host.
func (w *world) openSources() error {
	w.sources = map[Text]*os.File{}
	for _, name := range w.plan.Sources() {
		fd, err := syscall.Open(name, openPathOnly|syscall.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: name, Err: err}
		}
		w.sources[Text(name)] = os.NewFile(uintptr(fd), name)
	}
	return nil
}

// name returns a path of an open file that stays valid if something is mounted over the
// file's name.
func name(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// enter builds the root: the image's files below a layer in memory for mount points. If
// the kernel lets no user mount an overlay, the root is a folder in memory into which
// the image's entries are mounted.
func (w *world) enter() error {
	base := string(w.plan.Base)
	if err := mountTmpfs(base, baseBytes, "mode=755", false); err != nil {
		return err
	}
	for _, dir := range []string{"upper", "work", "root", "empty"} {
		if err := os.Mkdir(path.Join(base, dir), 0o755); err != nil {
			return err
		}
	}
	folder, err := openPath(atFDCWD, base)
	if err != nil {
		return err
	}
	defer folder.Close()
	if w.empty, err = openPath(atFDCWD, path.Join(base, "empty")); err != nil {
		return err
	}
	root := path.Join(base, "root")
	// Descriptors are used because the guest sees the options, and because paths may
	// contain commas.
	layers := "userxattr,lowerdir=" + name(w.sources[w.plan.Root]) + ",upperdir=" + name(folder) + "/upper,workdir=" + name(folder) + "/work"
	w.held["root"] = "overlay"
	if err := syscall.Mount("overlay", root, "overlay", plainFlags, layers); err != nil {
		w.held["root"] = "binds"
		if err := errors.Join(mountTmpfs(root, baseBytes, "mode=755", false), w.spread(w.sources[w.plan.Root], root)); err != nil {
			return fmt.Errorf("mount the image: %w", err)
		}
	}
	if err := errors.Join(syscall.Chdir(root), syscall.PivotRoot(".", "."), syscall.Chdir("/")); err != nil {
		return fmt.Errorf("enter the image: %w", err)
	}
	return nil
}

// spread mounts each entry of a folder under the same name in another folder,
// read-only. It copies links.
func (w *world) spread(from *os.File, to string) error {
	entries, err := os.ReadDir(name(from))
	if err != nil {
		return err
	}
	for _, e := range entries {
		at, source := path.Join(to, e.Name()), path.Join(name(from), e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(source)
			if err := errors.Join(err, os.Symlink(target, at)); err != nil {
				return err
			}
			continue
		case e.IsDir():
			err = os.Mkdir(at, 0o755)
		default:
			err = os.WriteFile(at, nil, 0o644)
		}
		if err != nil {
			return err
		}
		f, err := openPath(atFDCWD, source)
		if err != nil {
			return err
		}
		err = bind(f, at, readOnly)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func openPath(at int, name string) (*os.File, error) {
	fd, err := syscall.Openat(at, name, openPathOnly|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// bind mounts an open file or folder of the host.
func bind(source *os.File, at string, attributes uint64) error {
	if err := syscall.Mount(name(source), at, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return &os.PathError{Op: "mount", Path: source.Name(), Err: err}
	}
	return protect(at, atRecursive, attributes)
}

// protect sets attributes of a mount and, with atRecursive, of the mounts below
// it.
func protect(at string, recursive uint, attributes uint64) error {
	if attributes == 0 {
		return nil
	}
	err := mountSetattr(at, recursive, attributes)
	if err == syscall.ENOSYS { // before Linux 5.12: only this mount, with the attributes that it must keep
		var st syscall.Statfs_t
		if err = syscall.Statfs(at, &st); err == nil {
			const kept = syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC | syscall.MS_NOATIME | syscall.MS_NODIRATIME
			err = syscall.Mount("", at, "", syscall.MS_REMOUNT|syscall.MS_BIND|uintptr(attributes)|uintptr(st.Flags)&kept, "")
		}
	}
	if err != nil {
		return &os.PathError{Op: "protect mount", Path: at, Err: err}
	}
	return nil
}

func mountTmpfs(at string, size int64, options string, noExec bool) error {
	flags := uintptr(plainFlags)
	if noExec {
		flags |= syscall.MS_NOEXEC
	}
	if err := syscall.Mount("tmpfs", at, "tmpfs", flags, options+",size="+strconv.FormatInt(size, 10)); err != nil {
		return &os.PathError{Op: "mount tmpfs", Path: at, Err: err}
	}
	return nil
}

// links creates the links that devices need.
func (w *world) links() error {
	for _, at := range slices.Sorted(maps.Keys(w.plan.Links)) {
		dir, err := w.materialise(path.Dir(at), true)
		if err != nil {
			return err
		}
		err = symlinkAt(w.plan.Links[at], dir, path.Base(at))
		dir.Close()
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return &os.PathError{Op: "link", Path: at, Err: err}
		}
	}
	return nil
}

// settle hides everything that is not for the guest, and closes files that are no
// longer needed.
func (w *world) settle() error {
	// The limit is per user namespace. It prevents the guest from creating one.
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		w.held["user_namespaces"] = "filtered only"
	}
	for _, masked := range w.plan.Masked {
		at := string(masked)
		info, err := os.Stat(at)
		if err != nil {
			continue
		}
		if info.IsDir() {
			err = syscall.Mount("tmpfs", at, "tmpfs", plainFlags|syscall.MS_NOEXEC|syscall.MS_RDONLY, "size=0,nr_inodes=1,mode=555")
		} else {
			err = syscall.Mount("/dev/null", at, "", syscall.MS_BIND, "")
		}
		if err != nil {
			return &os.PathError{Op: "mask", Path: at, Err: err}
		}
	}
	for _, at := range w.plan.ReadOnly {
		if _, err := os.Stat(at); err != nil {
			continue
		}
		err := syscall.Mount(at, at, "", syscall.MS_BIND|syscall.MS_REC, "")
		if err == nil {
			err = protect(at, atRecursive, readOnly|attrNoExec)
		}
		if err != nil {
			return &os.PathError{Op: "protect", Path: at, Err: err}
		}
	}
	return errors.Join(protect("/dev", 0, attrReadOnly), protect("/", 0, attrReadOnly))
}
