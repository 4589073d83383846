package tree

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Measure returns the space taken by path and everything below it. Each file
// counts with its size or its blocks, whichever is more, so that holes count as
// the bytes that a reader gets. A file with several names counts once. It
// follows no links and enters no other file system; folders that cannot be read
// are made readable. Files that change meanwhile count as they are seen. A path
// that does not exist is not an error.
func Measure(path string) (int64, error) {
	m := measure{descent: descent{dir: unix.AT_FDCWD}, linked: map[[2]uint64]bool{}}
	if err := m.whole(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m.bytes, fmt.Errorf("measure %s: %w", path, err)
	}
	return m.bytes, nil
}

type measure struct {
	descent
	// linked are the files with several names.
	linked map[[2]uint64]bool
	bytes  int64
}

func (m *measure) whole(path string) error {
	if !m.add(path) {
		return nil
	}
	if err := m.enter(path); err != nil {
		return err
	}
	for len(m.stack) > 0 {
		top := &m.stack[len(m.stack)-1]
		switch n := len(top.folders); {
		case top.more:
			m.read(top)
		case n > 0:
			name := top.folders[n-1]
			top.folders = top.folders[:n-1]
			_ = m.enter(name) // a removed file takes no space
		default:
			if _, err := m.leave(); err != nil {
				return err
			}
		}
	}
	return nil
}

// read adds the entries of the open folder.
func (m *measure) read(top *level) {
	top.more = false
	for {
		names, err := m.names()
		if err != nil || len(names) == 0 {
			return
		}
		for _, name := range names {
			if m.add(name) {
				top.folders = append(top.folders, name)
			}
		}
	}
}

// add adds an entry of the open folder and reports whether it is a folder.
func (m *measure) add(name string) bool {
	var st unix.Stat_t
	if unix.Fstatat(m.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	id := [2]uint64{st.Dev, st.Ino}
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFDIR && st.Nlink > 1 {
		if m.linked[id] {
			return false
		}
		m.linked[id] = true
	}
	bytes := st.Blocks * 512
	if kind == unix.S_IFREG {
		bytes = max(bytes, st.Size)
	}
	m.bytes += bytes
	return kind == unix.S_IFDIR
}
