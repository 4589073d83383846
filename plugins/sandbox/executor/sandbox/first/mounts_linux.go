package first

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"syscall"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
)

// kernel mounts the kernel's own file systems.
func (w *world) kernel() error {
	// /proc comes first, because it has the names of descriptors. If the image has a
	// link in its place, the link is not followed.
	at, err := w.first("proc")
	if err != nil {
		return err
	}
	if err := syscall.Mount("proc", at, "proc", plainFlags|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w (in a container whose /proc is masked this is refused: procMount: Unmasked with hostUsers: false in Kubernetes, --security-opt systempaths=unconfined in Docker)", err)
	}
	sys, err := w.materialise("/sys", true)
	if err != nil {
		return err
	}
	defer sys.Close()
	err = syscall.Mount("sysfs", name(sys), "sysfs", plainFlags|syscall.MS_NOEXEC|syscall.MS_RDONLY, "")
	if err != nil { // with the host's network, or a masked /sys, the guest has no /sys
		w.held["sys"] = "none"
	}
	return nil
}

// first creates the folder with that name in the root, where nothing is mounted yet.
func (w *world) first(name string) (string, error) {
	at := "/" + name
	if err := os.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(at)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("the image has no folder at %s, but something else", at)
	}
	return at, err
}

// devices mounts a /dev with the usual devices and the leased ones.
func (w *world) devices() error {
	dev, err := w.materialise("/dev", true)
	if err != nil {
		return err
	}
	err = mountTmpfs(name(dev), 1<<20, "mode=755", false)
	dev.Close()
	if err != nil {
		return err
	}
	for _, d := range w.plan.Devices {
		if err := w.mountAt(w.sources[d.Host], d.Guest, attrNoSUID|attrNoExec); err != nil {
			return err
		}
	}
	for _, link := range [][2]string{
		{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"},
		{"/proc/self/fd/2", "/dev/stderr"}, {"pts/ptmx", "/dev/ptmx"},
	} {
		if err := os.Symlink(link[0], link[1]); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, dir := range []string{"/dev/pts", "/dev/mqueue"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	// Failing to mount its own terminals and message queues is not fatal.
	_ = syscall.Mount("devpts", "/dev/pts", "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	_ = syscall.Mount("mqueue", "/dev/mqueue", "mqueue", plainFlags|syscall.MS_NOEXEC, "")
	return nil
}

// temporary mounts the file systems in memory that the guest may write to.
func (w *world) temporary() error {
	for _, t := range w.plan.Tmpfs {
		at, err := w.materialise(t.Guest, true)
		if err != nil {
			return err
		}
		err = mountTmpfs(name(at), t.Bytes, "mode=1777", t.NoExec)
		at.Close()
		if err != nil {
			return err
		}
		w.memory = append(w.memory, t.Guest)
	}
	return nil
}

// textsAt is the folder of texts until they are mounted over other files. It is a
// separate file system, because the first process continues to write to some of them.
const textsAt = "/dev/texts"

// texts mounts texts over files of the image and of the kernel.
func (w *world) texts() error {
	if err := errors.Join(os.Mkdir(textsAt, 0o755), mountTmpfs(textsAt, textBytes, "mode=755", true), w.machine()); err != nil {
		return err
	}
	for i, guest := range slices.Sorted(maps.Keys(w.plan.Files)) {
		at := path.Join(textsAt, strconv.Itoa(i))
		if err := os.WriteFile(at, []byte(w.plan.Files[guest]), 0o644); err != nil {
			return err
		}
		f, err := openPath(atFDCWD, at)
		if err != nil {
			return err
		}
		err = w.mountAt(f, guest, readOnly)
		f.Close()
		if err != nil {
			return err
		}
	}
	return errors.Join(syscall.Unmount(textsAt, syscall.MNT_DETACH), os.Remove(textsAt))
}

// mounts mounts the folders and files of the Spec.
func (w *world) mounts() error {
	w.held["views"] = "overlay"
	for _, m := range w.plan.Mounts {
		source, attributes := w.sources[m.Host], uint64(attrNoSUID|attrNoDev)
		if m.ReadOnly {
			attributes = readOnly
		}
		if m.ReadOnly && !isFile(source) {
			if w.view(source, m.Guest) == nil {
				continue
			}
			w.held["views"] = "binds"
		}
		if err := w.mountAt(source, m.Guest, attributes); err != nil {
			return err
		}
	}
	return nil
}

// view mounts a folder that is only read, with the guest's own inodes. Locks on its
// files therefore do not reach other guests with the same files.
func (w *world) view(source *os.File, guest string) error {
	at, err := w.materialise(guest, true)
	if err != nil {
		return err
	}
	defer at.Close()
	return syscall.Mount("overlay", name(at), "overlay", plainFlags|syscall.MS_RDONLY, "userxattr,lowerdir="+name(source)+":"+name(w.empty))
}

func isFile(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && !info.IsDir()
}

// mountAt mounts an open file or folder of the host at its path in the guest.
func (w *world) mountAt(source *os.File, guest string, attributes uint64) error {
	at, err := w.materialise(guest, !isFile(source))
	if err != nil {
		return err
	}
	defer at.Close()
	if err := bind(source, name(at), 0); err != nil {
		return err
	}
	// The old descriptor refers to the entry below the mount.
	top, err := w.materialise(guest, !isFile(source))
	if err != nil {
		return err
	}
	defer top.Close()
	return protect(name(top), atRecursive, attributes)
}

// view is a file of the kernel that describes the machine, with the file that the guest
// sees in its place.
type view struct{ source, shown *os.File }

// machine mounts the views of files that the guest must see changed. A file that the kernel
// does not have does not exist in the guest either.
func (w *world) machine() error {
	w.viewed = map[string]view{}
	for _, name := range guest.MachineFiles {
		if !w.plan.View.Changes(name) {
			continue
		}
		source, err := os.Open(name)
		if err != nil {
			continue
		}
		shown, err := os.OpenFile(path.Join(textsAt, string(bytes.ReplaceAll([]byte(name), []byte("/"), []byte("-")))), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		w.viewed[name] = view{source, shown}
		if err := w.viewed[name].show(name, w.plan.View, 0); err != nil {
			return err
		}
		if err := w.mountAt(shown, name, readOnly|attrNoExec); err != nil {
			return err
		}
	}
	return nil
}

// show updates the content that the guest sees.
func (v view) show(name string, plan guest.Machine, held int64) error {
	text, err := io.ReadAll(io.NewSectionReader(v.source, 0, 64<<20))
	if err != nil {
		return &os.PathError{Op: "read", Path: name, Err: err}
	}
	out := plan.Show(name, text, held)
	if _, err := v.shown.WriteAt(out, 0); err != nil {
		return err
	}
	return v.shown.Truncate(int64(len(out)))
}

// refresh updates the files that change.
func (s *sandbox) refresh() {
	for _, name := range []string{"/proc/stat", "/proc/meminfo"} {
		if v, ok := s.viewed[name]; ok {
			_ = v.show(name, s.plan.View, s.held)
		}
	}
}

// materialise opens a path of the guest. If it does not exist, materialise creates it as a
// folder or an empty file. Links are resolved by their text, so that no link in the image
// leads out of the root, not even through descriptors.
func (w *world) materialise(guest string, folder bool) (*os.File, error) {
	at, err := openPath(atFDCWD, "/")
	if err != nil {
		return nil, err
	}
	parts, err := resolve(guest)
	for i := 0; err == nil && i < len(parts); i++ {
		var next *os.File
		if next, err = w.enterOrMake(at, parts[:i], parts[i], folder || i < len(parts)-1); err == nil {
			at.Close()
			at = next
		}
	}
	if err != nil {
		at.Close()
		return nil, fmt.Errorf("make %s in the sandbox: %w", guest, err)
	}
	return at, nil
}

// maxLinks is the number of links in a path after which it is refused.
const maxLinks = 255

// resolve returns the names on the way to a path of the guest, after all links that exist.
// A link is followed by its text, and none leads above the root.
func resolve(guest string) (real []string, err error) {
	left, links := names(guest), 0
	for len(left) > 0 {
		next := left[0]
		left = left[1:]
		if next == ".." {
			real = real[:max(0, len(real)-1)]
			continue
		}
		target, err := os.Readlink("/" + path.Join(append(slices.Clone(real), next)...))
		if err != nil { // it is no link, or does not exist
			real = append(real, next)
			continue
		}
		if links++; links > maxLinks {
			return nil, fmt.Errorf("more than %d links", maxLinks)
		}
		if path.IsAbs(target) {
			real = nil
		}
		left = append(names(target), left...)
	}
	return real, nil
}

// names returns the names in a path.
func names(at string) (list []string) {
	for name := range bytes.SplitSeq([]byte(at), []byte("/")) {
		if len(name) > 0 && string(name) != "." {
			list = append(list, string(name))
		}
	}
	return list
}

// enterOrMake opens an entry of the folder and creates it if it does not exist.
func (w *world) enterOrMake(at *os.File, done []string, part string, folder bool) (*os.File, error) {
	dir := int(at.Fd())
	f, err := openPath(dir, part)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	err = makeEntry(dir, part, folder)
	if errors.Is(err, syscall.EROFS) && len(done) > 0 {
		// The folder is the image's. A folder in memory with the same entries takes its
		// place.
		there := "/" + path.Join(done...)
		if err := errors.Join(mountTmpfs(there, baseBytes, "mode=755", false), w.spread(at, there)); err != nil {
			return nil, err
		}
		over, err := openPath(atFDCWD, there)
		if err != nil {
			return nil, err
		}
		defer over.Close()
		if err := makeEntry(int(over.Fd()), part, folder); err != nil {
			return nil, err
		}
		return openPath(int(over.Fd()), part)
	}
	if err != nil {
		return nil, err
	}
	return openPath(dir, part)
}

func makeEntry(dir int, name string, folder bool) error {
	if folder {
		return syscall.Mkdirat(dir, name, 0o755)
	}
	fd, err := syscall.Openat(dir, name, syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, 0o644)
	if err == nil {
		err = syscall.Close(fd)
	}
	return err
}
