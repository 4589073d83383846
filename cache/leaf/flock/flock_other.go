//go:build !unix || aix || solaris

package flock

import "os"

// Try does nothing on this system.
func Try(*os.File) (bool, error) { return true, nil }

// TryShared does nothing on this system.
func TryShared(*os.File) (bool, error) { return true, nil }

// LockShared does nothing on this system.
func LockShared(*os.File) error { return nil }

// Lock does nothing on this system.
func Lock(*os.File) error { return nil }

// Unlock does nothing on this system.
func Unlock(*os.File) error { return nil }
