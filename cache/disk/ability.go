package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/nolink"
)

// Ability is something that a file system can or cannot do and that a cache uses.
type Ability struct {
	// Name is a word or two, such as "file locks".
	Name string
	// Use says what a cache uses it for.
	Use string
	// Instead says what happens without it. If it is empty, a cache cannot do without it.
	Instead string
	// Minor is true if a lack costs so little that nobody need act.
	Minor bool
	// Fix says how to get it.
	Fix string
	// Err is the error of the trial; nil if the file system can do it.
	Err error
}

// Fatal reports whether the file system cannot hold a cache for the lack of it.
func (a *Ability) Fatal() bool { return a.Err != nil && a.Instead == "" }

// Error says what the file system cannot do, who needs it and how to get it.
func (a *Ability) Error() string {
	return fmt.Sprintf("its file system lacks %s (%s): %v; %s", a.Name, a.Use, a.Err, a.Fix)
}

func (a *Ability) Unwrap() error { return a.Err }

// trial is an empty folder with a file of a page that is open twice.
type trial struct {
	dir  string
	a, b *os.File
}

// trials are what Abilities tries, the essential first.
var trials = []struct {
	Ability
	try func(trial) error
}{
	{Ability{Name: "file locks", Use: "processes tell by them who else is at work",
		Fix: "mount it with locks: Lustre with -o flock, NFS as version 4, or as version 3 with a lock manager and without nolock; SMB and sshfs do not serve"}, trial.locks},
	{Ability{Name: "rename", Use: "files are replaced as a whole while others read them",
		Fix: "use a file system with the semantics of POSIX, such as ext4, xfs, btrfs, NFS or Lustre"}, trial.rename},
	{Ability{Name: "fsync", Use: "results survive a loss of power", Fix: "use a file system that writes to its disk on request"},
		func(t trial) error { return cmp.Or(t.a.Sync(), nolink.SyncDir(t.dir), syncFileSystem(t.a)) }},
	{Ability{Name: "shared memory", Use: "processes share counters in a mapped file",
		Fix: "mount it with mapped files: 9p with cache=mmap, FUSE without direct_io"}, trial.memory},
	{Ability{Name: "file times", Use: "the nanoseconds of an object's time show that nobody wrote to it",
		Instead: "every object is read and verified before each use", Fix: "use a file system with times in nanoseconds: ext4 with inodes of 256 bytes, xfs, btrfs"}, trial.times},
	{Ability{Name: "links", Use: "attempts and exports share an object's file by hard links",
		Instead: "objects are renamed into place, and every attempt and export gets copies of its data",
		Fix:     "use a file system with hard links between folders, if the space matters"},
		func(t trial) error {
			return cmp.Or(nolink.Mkdir(t.dir+"/d", 0o700), unix.Link(t.a.Name(), t.dir+"/d/link"))
		}},
	{Ability{Name: "reflinks", Use: "writable files share an object's blocks", Instead: "they are copied", Minor: true},
		func(t trial) error { return clone(t.a, t.dir+"/clone") }},
	{Ability{Name: "unnamed files", Use: "a crash leaves no temporary file", Instead: "the next process removes them", Minor: true}, trial.unnamed},
	{Ability{Name: "programs", Use: "agents start programs of their own, such as ./run.sh", Instead: "that fails with \"Permission denied\"",
		Fix: "mount it without noexec (mount -o remount,exec), or choose another folder with --cache-dir"},
		func(t trial) error {
			return cmp.Or(t.a.Chmod(0o700), os.NewSyscallError("execute", unix.Access(t.a.Name(), unix.X_OK)))
		}},
	{Ability{Name: "names", Use: "files differ by the case of their names", Instead: "data with such names cannot be unpacked",
		Fix: "use a file system that distinguishes case"}, func(t trial) error { return nolink.Mkdir(t.dir+"/FILE", 0o700) }},
}

// ProbePrefix begins the names of what trials leave in a folder, for a moment or, if users
// share it, for the next user. It does not keep the folder from becoming a cache.
const ProbePrefix = ".mleflow-doctor-"

// Abilities tries what a cache needs of the file system of a folder, and leaves nothing
// there. It fails if the folder cannot be written to. What it finds is what Open finds.
// With names, it tries only those.
func Abilities(dir string, names ...string) ([]*Ability, error) {
	return abilities(dir, func(a *Ability) bool { return len(names) == 0 || slices.Contains(names, a.Name) })
}

func abilities(dir string, pick func(*Ability) bool) (list []*Ability, err error) {
	work, err := nolink.MkdirTemp(nolink.Folder(dir), ProbePrefix, 0o700)
	if err != nil {
		return nil, fmt.Errorf("make a folder for trials: %w", err)
	}
	defer os.RemoveAll(work)
	for i, t := range trials {
		if !pick(&t.Ability) {
			continue
		}
		if t.Err = tryIn(filepath.Join(work, strconv.Itoa(i)), t.try); isFull(t.Err) {
			return list, fmt.Errorf("try %s: %w", t.Name, t.Err)
		}
		// The paths of trials say nothing.
		if at, ok := errors.AsType[*fs.PathError](t.Err); ok {
			t.Err = at.Err
		}
		list = append(list, &t.Ability)
	}
	return list, nil
}

func tryIn(dir string, try func(trial) error) error {
	if err := nolink.Mkdir(dir, 0o700); err != nil {
		return err
	}
	a, err := nolink.Create(dir + "/file")
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := nolink.OpenFile(a.Name(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := a.Truncate(stateSize); err != nil {
		return err
	}
	return try(trial{dir, a, b})
}

// lacks returns the first thing that the file system of a folder lacks and that a cache
// cannot do without, as an error.
func lacks(dir string) error {
	list, err := abilities(dir, func(a *Ability) bool { return a.Instead == "" })
	for _, a := range list {
		if a.Err != nil {
			return a
		}
	}
	return err
}

// because returns the error of an Open with what the file system lacks, if that is why.
func (c *folder) because(err error) error {
	_, known := errors.AsType[*Ability](err)
	_, system := errors.AsType[unix.Errno](err)
	if known || !system || c.readOnly || isFull(err) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	if lack, found := errors.AsType[*Ability](lacks(c.dir)); found {
		return fmt.Errorf("%w (%w)", lack, err)
	}
	return err
}

// linkRefused reports whether a file system has no hard links, or none between folders.
func linkRefused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS)
}

func (t trial) locks() error {
	for _, try := range []func(f *os.File) (bool, error){
		flock.Try,
		func(f *os.File) (bool, error) { return tryPlace(f, 1<<61) },
	} {
		if _, err := try(t.a); err != nil {
			return fmt.Errorf("lock a file: %w", err)
		}
		if _, err := t.b.Read(make([]byte, 1)); err != nil {
			return fmt.Errorf("a locked file cannot be read: %w", err)
		}
		if got, err := try(t.b); err != nil || got {
			return errors.Join(err, errors.New("two get the same lock"))
		}
		if err := flock.Unlock(t.a); err != nil {
			return err
		}
	}
	return nil
}

func (t trial) rename() error {
	if err := nolink.WriteFile(t.a.Name(), nil, 0o600, false); err != nil {
		return err
	}
	if at, err := nolink.IsAt(t.a, t.a.Name()); err != nil || at {
		return errors.Join(err, errors.New("a replaced file keeps its name"))
	}
	_, err := t.b.Read(make([]byte, 1))
	return err
}

func (t trial) memory() error {
	page, err := unix.Mmap(int(t.a.Fd()), 0, stateSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	defer func() { _ = unix.Munmap(page) }()
	page[0] = 1
	got := make([]byte, 1)
	if _, err := t.b.ReadAt(got, 0); err != nil || got[0] != 1 {
		return errors.Join(err, errors.New("others do not see what is written"))
	}
	return nil
}

func (t trial) times() error {
	want := unix.Timespec{Sec: 1_700_000_000, Nsec: 123_456_789}
	if err := futimens(t.a, want); err != nil {
		return os.NewSyscallError("utimensat", err)
	}
	info, err := t.b.Stat()
	if err == nil && info.ModTime().UnixNano() != want.Nano() {
		err = errors.New("they are rounded")
	}
	return err
}

func (t trial) unnamed() error {
	top, err := nolink.OpenDir(t.dir)
	if err != nil {
		return err
	}
	defer top.Close()
	f, err := openUnnamed(top, ".")
	if err != nil {
		return err
	}
	return f.Close()
}
