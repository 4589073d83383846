package tree

import "golang.org/x/sys/unix"

// names lists an open folder.
func (s *stamper) names(fd int) (list []string, err error) {
	for {
		n, err := unix.Getdents(fd, s.buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return list, err
		}
		list = append(list, direntNames(s.buf[:n])...)
	}
}
