package disk

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// file is one file in the objects folder.
type file struct {
	id digest.ContentID
	// twin marks the executable twin.
	twin bool
	// stray is the name of a file that is not an object.
	stray string
}

// eachShard calls fn with the sorted names of every folder of objects.
func (c *objects) eachShard(fn func(b byte, names []string) error) error {
	there, err := names(c.path(objectsName))
	if err != nil {
		return err
	}
	slices.Sort(there)
	for _, name := range there {
		digits, err := hex.DecodeString(name)
		if err != nil || len(digits) != 1 || hex.EncodeToString(digits) != name {
			continue
		}
		b := digits[0]
		list, err := names(c.path(shardName(b)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		slices.Sort(list)
		if err := fn(b, list); err != nil {
			return err
		}
	}
	return nil
}

// eachFile calls fn for every file in the folders of objects.
func (c *objects) eachFile(fn func(file) error) error {
	return c.eachShard(func(b byte, names []string) error {
		return lists.Each(names, func(name string) error { return fn(parseObjectName(b, name)) })
	})
}

func parseObjectName(b byte, name string) file {
	digits, twin := strings.CutSuffix(name, "x")
	var id digest.ContentID
	if len(digits) == 2*digest.Size {
		if _, err := hex.Decode(id[:], []byte(digits)); err == nil && id[0] == b && id.String() == digits {
			return file{id: id, twin: twin}
		}
	}
	return file{stray: name}
}

// tally is the number and size of objects.
type tally struct{ objects, bytes int64 }

// count adds up all objects, and everything else on disk that the quota counts.
func (c *objects) count(see func(file, facts)) (t tally, err error) {
	err = c.eachFile(func(f file) error {
		if f.stray != "" {
			return nil
		}
		facts, err := c.stat(f.id, f.twin)
		if err != nil {
			return ignoreMissing(err)
		}
		if !f.twin {
			t.objects++
		}
		t.bytes += facts.size
		see(f, facts)
		return nil
	})
	return t, err
}

// keyedBytes returns the size of unfinished keyed ingests.
func (c *ingests) keyedBytes() (int64, error) {
	list, err := os.ReadDir(c.path(ingestName))
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, d := range list {
		if strings.Contains(d.Name(), ".") {
			continue // a saved state
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum, nil
}

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
// unused. Only its owner can: in a shared cache a collection therefore reads the leases
// again before it removes anything; see removeBatch.
func (c *objects) touch(id digest.ContentID, executable bool) error {
	ts := c.stamp(id)
	path := c.objectPath(id, executable)
	err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
	if c.grouped && errors.Is(err, unix.EPERM) {
		return nil // another user's: the lease protects it, and without a seal it is read again each time
	}
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
