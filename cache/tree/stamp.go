//go:build unix

package tree

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/digest"
)

// Stamp returns a digest of the metadata of the folder dir and everything below
// it: names, inodes, modes, sizes and the times of the last status change
// (ctime). Content is not read. Every write, rename, link and change of mode
// updates that time, and no system call can set it. So an equal stamp means
// that nothing was changed; a different one does not mean that content was. No
// link is followed, and only folders are opened.
func Stamp(ctx context.Context, dir string) (digest.ContentID, error) {
	s := stamper{ctx: ctx, hash: digest.NewWriter()}
	if err := s.entry(unix.AT_FDCWD, dir, ""); err != nil {
		return digest.ContentID{}, fmt.Errorf("look at %s: %w", dir, err)
	}
	return s.hash.ID(), nil
}

type stamper struct {
	ctx  context.Context // of one call of Stamp
	hash *digest.Writer
	line []byte
}

// entry adds an entry of an open folder, and everything below it, under a name.
func (s *stamper) entry(dir int, name, as string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	s.line = append(s.line[:0], as...)
	for _, n := range []uint64{
		0, st.Ino, uint64(st.Mode), uint64(st.Size), uint64(st.Uid)<<32 | uint64(st.Gid),
		uint64(st.Mtim.Sec), uint64(st.Mtim.Nsec), uint64(st.Ctim.Sec), uint64(st.Ctim.Nsec),
	} {
		s.line = binary.LittleEndian.AppendUint64(s.line, n)
	}
	_, _ = s.hash.Write(s.line)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	return s.below(dir, name)
}

func (s *stamper) below(dir int, name string) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	list, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	slices.Sort(list)
	for _, name := range list {
		if err := s.entry(fd, name, name); err != nil {
			return err
		}
	}
	_, err = s.hash.Write([]byte("/"))
	return err
}
