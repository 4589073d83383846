//go:build darwin || portable

package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/flock"
)

// What any Unix system can do. With the tag portable it is used on Linux too,
// so that the tests cover it: go test -tags portable ./cache/disk

// canUnnamed says that every file has a name.
const canUnnamed = false

func openUnnamed(_ *os.File, name string) (*os.File, error) {
	return nil, &os.PathError{Op: "open temporary file in", Path: name, Err: unix.EOPNOTSUPP}
}

// linkFile gives a second name to an open file that has one.
func linkFile(f *os.File, dir int, name string) error {
	return unix.Linkat(unix.AT_FDCWD, f.Name(), dir, name, 0)
}

// masksObjects reports true: files are created for their owner only.
func masksObjects() bool { return true }

// futimens sets both times of an open file, which has a name.
func futimens(f *os.File, ts unix.Timespec) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, f.Name(), []unix.Timespec{ts, ts}, 0)
}

// reserveBlocks makes sure that the first size bytes of f, which is empty, have
// blocks.
func reserveBlocks(f *os.File, size int64) error {
	_, err := f.WriteAt(make([]byte, size), 0)
	return err
}

// eachName calls fn with the names in an open folder, in no particular order, and
// with 0 instead of their inodes.
func eachName(dir *os.File, fn func(name []byte, inode uint64)) error {
	for {
		names, err := dir.Readdirnames(1 << 10)
		for _, name := range names {
			fn([]byte(name), 0)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lockPlace waits for the lock of a number: a separate file below locks, which
// exists while the lock is held.
func (c *folder) lockPlace(ctx context.Context, at int64) (unlock func(), err error) {
	name := fmt.Sprintf("action-%016x", at)
	var f *os.File
	err = poll(ctx, func() (bool, error) {
		if f, err = c.openLock(name); err != nil {
			return false, err
		}
		ok, err := flock.Try(f)
		if ok && !isNamed(f) { // its holder removed it before we locked it
			ok = false
		}
		if !ok {
			f.Close()
		}
		return ok, err
	})
	if err != nil {
		return nil, err
	}
	return func() {
		_ = os.Remove(f.Name())
		_ = f.Close()
	}, nil
}

// tryPlace is flock.Try: every place has a file.
func tryPlace(f *os.File, _ int64) (bool, error) { return flock.Try(f) }

// renameNew says that names are always replaced.
func renameNew(string, string) error { return unix.ENOSYS }

// isNamed reports whether the file still has the name under which it was
// opened.
func isNamed(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(open, named)
}

// scatter does nothing.
func scatter(string) {}

// spreadObjects does nothing.
func spreadObjects(string) {}
