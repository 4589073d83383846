//go:build !linux && !darwin

package sched

// FreeDisk returns 0, which means unknown, on this system.
func FreeDisk(string) (int64, error) { return 0, nil }

// FreeFiles returns 0, which means unknown, on this system.
func FreeFiles(string) (int64, error) { return 0, nil }
