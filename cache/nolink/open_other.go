//go:build !linux

package nolink

import "golang.org/x/sys/unix"

func openWhole(path string, flags int, mode uint32) (int, error) {
	return unix.Open(path, flags, mode)
}
