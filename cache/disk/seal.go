package disk

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/digest"
)

// sealOf returns the nanoseconds that the modification time of an unmodified
// object has. A write sets the time to now, which has the same nanoseconds once
// in a billion times.
func sealOf(id digest.ContentID) int64 {
	return int64(binary.BigEndian.Uint32(id[digest.Size-4:]) % 1_000_000_000)
}

// facts is the result of one stat of an object.
type facts struct {
	size int64
	// since is the time at which the object was published or, during a collection,
	// found present, in seconds of Unix time.
	since  int64
	nsec   int64
	links  uint64
	inode  uint64
	device uint64
}

// sealed reports whether the object has not been written to since it was
// published.
func (f facts) sealed(id digest.ContentID) bool { return f.nsec == sealOf(id) }

func statPath(path string) (facts, error) {
	var st unix.Stat_t
	if err := uninterrupted(func() error { return unix.Lstat(path, &st) }); err != nil {
		return facts{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return factsOf(&st), nil
}

func factsOf(st *unix.Stat_t) facts {
	return facts{
		size: st.Size, since: int64(st.Mtim.Sec), nsec: int64(st.Mtim.Nsec), //nolint:unconvert // 32 bits on some platforms
		links: uint64(st.Nlink), inode: st.Ino, device: uint64(st.Dev), //nolint:unconvert // as above
	}
}

// stat returns the facts of an object.
func (c *objects) stat(id digest.ContentID, executable bool) (facts, error) {
	var st unix.Stat_t
	name := objectName(id, executable)
	err := uninterrupted(func() error { return unix.Fstatat(int(c.file.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return facts{}, &os.PathError{Op: "stat", Path: c.path(name), Err: err}
	}
	return factsOf(&st), nil
}

// stamp returns the time for an object that is published or found present now.
// It is never before the start of this process as recorded in its lease.
func (c *objects) stamp(id digest.ContentID) unix.Timespec {
	sec := max(c.now().Unix(), c.leases.started)
	return unix.NsecToTimespec(sec*int64(time.Second) + sealOf(id))
}

// touch marks an object as needed now, which protects it from being removed as
// unused.
func (c *objects) touch(id digest.ContentID, executable bool) error {
	ts := c.stamp(id)
	path := c.objectPath(id, executable)
	err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return fmt.Errorf("touch %s: %w", path, err)
	}
	return nil
}

// sealFile gives an open file, which is still private, the mode and time of the
// object id.
func (c *objects) sealFile(f *os.File, named bool, id digest.ContentID, executable bool) error {
	mode := uint32(0o444)
	if executable {
		mode = 0o555
	}
	// A file without a name was created with the mode that most objects have.
	if named || executable || c.masked {
		if err := unix.Fchmod(int(f.Fd()), mode); err != nil {
			return fmt.Errorf("chmod %s: %w", f.Name(), err)
		}
	}
	if err := futimens(f, c.stamp(id)); err != nil {
		return fmt.Errorf("set time of %s: %w", f.Name(), err)
	}
	if err := writeOut(f); err != nil {
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	return nil
}
