package nolink

import "golang.org/x/sys/unix"

// openWhole opens a path none of whose names may be a link.
func openWhole(path string, flags int, mode uint32) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_SYMLINKS}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(mode)
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err == unix.ENOSYS || err == unix.EPERM { // before Linux 5.6, or refused by a filter that does not know it
		return unix.Open(path, flags, mode)
	}
	return fd, err
}
