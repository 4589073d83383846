package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/nolink"
)

// uninterrupted repeats a system call that a signal interrupts. Calls on files of
// FUSE and of network file systems are interrupted even if the signal's handler
// asks for a restart.
func uninterrupted(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// flockContext waits until ctx ends for a lock that try takes.
func flockContext(ctx context.Context, f *os.File, try func(*os.File) (bool, error)) error {
	return poll(ctx, func() (bool, error) { return try(f) })
}

// poll calls try until it succeeds, at growing intervals.
func poll(ctx context.Context, try func() (bool, error)) error {
	wait := 500 * time.Microsecond
	for {
		ok, err := try()
		if ok || err != nil {
			return err
		}
		if err := progress.Sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(wait*3/2, 100*time.Millisecond)
	}
}

// lockFile opens and locks the file at path, and creates it if it does not exist. It
// tries again if the previous holder removed the file before releasing the lock.
func lockFile(ctx context.Context, path string, flags int, mode fs.FileMode) (*os.File, error) {
	for {
		f, err := nolink.OpenFile(path, flags|os.O_CREATE, mode)
		if err != nil {
			return nil, err
		}
		same := false
		if err = flockContext(ctx, f, flock.Try); err == nil {
			if same, err = nolink.IsAt(f, path); same {
				return f, nil
			}
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// openLockable opens a file that exists, to lock it exclusively. NFS wants it open for
// writing; elsewhere another user's file can be locked without.
func openLockable(path string) (*os.File, error) {
	f, err := nolink.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nolink.Open(path)
	}
	return f, err
}

// openLock opens a file in the folder "locks", and creates it if it can.
func (c *folder) openLock(name string) (*os.File, error) {
	if c.readOnly {
		return nolink.Open(c.path(locksName, name))
	}
	f, err := nolink.OpenFile(c.path(locksName, name), os.O_RDWR|os.O_CREATE, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s of the cache is missing; create it, empty, when no process uses the cache: %w", c.path(locksName), err)
	}
	return f, err
}

// lockNamed waits for a lock in the folder "locks".
func (c *folder) lockNamed(ctx context.Context, name string, try func(*os.File) (bool, error)) (unlock func(), err error) {
	f, err := c.openLock(name)
	if err != nil {
		return nil, err
	}
	if err := flockContext(ctx, f, try); err != nil {
		f.Close()
		return nil, fmt.Errorf("wait for the cache's lock %q: %w", name, err)
	}
	return func() { _ = f.Close() }, nil
}

// sharedLock is a lock file that the goroutines of a process take turns to use.
type sharedLock struct {
	name string // in errors
	mu   sync.Mutex
	file *os.File
}

// hold calls fn while it holds the lock, which lock takes.
func (l *sharedLock) hold(lock func(*os.File) error, fn func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := lock(l.file); err != nil {
		return fmt.Errorf("lock %s: %w", l.name, err)
	}
	defer func() { _ = flock.Unlock(l.file) }()
	return fn()
}

// LockAction implements cache.Locker. Locks are byte ranges at offsets of 62
// bits, taken from the digest. Two actions whose digests share these bits wait
// for each other, which only costs time.
func (c *folder) LockAction(ctx context.Context, id digest.ActionID) (func(), error) {
	if err := c.writing("lock action"); err != nil {
		return nil, err
	}
	unlock, err := c.lockPlace(ctx, int64(binary.BigEndian.Uint64(id[:8])>>2))
	if err != nil {
		return nil, fmt.Errorf("lock action %s: %w", id.Short(), err)
	}
	return unlock, nil
}
