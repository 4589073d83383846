//go:build unix && !aix && !solaris

package flock

import (
	"errors"
	"os"
	"syscall"
)

// Try locks the file unless another open file of the same name is locked. It
// reports whether it got the lock.
func Try(f *os.File) (bool, error) { return try(f, syscall.LOCK_EX) }

// TryShared is like Try for a shared lock.
func TryShared(f *os.File) (bool, error) { return try(f, syscall.LOCK_SH) }

func try(f *os.File, how int) (bool, error) {
	err := flock(f, how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// LockShared waits for a shared lock.
func LockShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

// Lock waits for an exclusive lock.
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
