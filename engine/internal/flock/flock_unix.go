//go:build unix && !aix && !solaris

package flock

import (
	"errors"
	"os"
	"syscall"
)

// Try locks the file if no other open file of the same name is locked, and
// reports whether it did.
func Try(f *os.File) (bool, error) {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// TryShared is Try for a shared lock.
func TryShared(f *os.File) (bool, error) {
	err := flock(f, syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// LockShared takes a shared lock, and waits for as long as necessary.
func LockShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

// Lock waits until it has the lock alone.
func Lock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// Unlock releases the lock.
func Unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("flock", err)
		}
	}
}
