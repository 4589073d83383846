package tree

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// Compare reads the folder dir and describes the first difference from the tree
// that ref names: a file with different content, a missing one, or an
// additional one. It returns "" if there is none. Apart from the executable
// bit, modes do not matter. An error is one of the store or of ctx; a file in
// the folder that cannot be read is a difference.
func Compare(ctx context.Context, store cache.Store, ref cache.Ref, dir string) (string, error) {
	return compareDir(ctx, store, ref, dir, "")
}

func compareDir(ctx context.Context, store cache.Store, ref cache.Ref, root, path string) (string, error) {
	list, err := os.ReadDir(root + "/" + path)
	if err != nil {
		return fmt.Sprintf("%q cannot be read: %v", path, err), nil //nolint:nilerr // it is the difference
	}
	there := make(map[string]fs.DirEntry, len(list))
	for _, d := range list {
		there[d.Name()] = d
	}
	what := ""
	err = Each(ctx, store, ref, func(e Entry) error {
		found, ok := there[e.Name]
		delete(there, e.Name)
		var err error
		switch at := path + e.Name; {
		case what != "":
		case !ok:
			what = fmt.Sprintf("%q is missing", at)
		case e.IsDir() && found.IsDir():
			what, err = compareDir(ctx, store, e.Ref(), root, at+"/")
		case e.IsDir() != found.IsDir() || !sameFile(ctx, root+"/"+at, e):
			what, err = fmt.Sprintf("%q has different content", at), ctx.Err()
		}
		return err
	})
	if what == "" {
		for _, d := range list { // in the order of names
			if there[d.Name()] != nil {
				return fmt.Sprintf("%q was added", path+d.Name()), err
			}
		}
	}
	return what, err
}

// sameFile reports whether the file at path has the content and the executable bit
// of the entry.
func sameFile(ctx context.Context, path string, e Entry) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() != e.Size || (info.Mode()&0o100 != 0) != (e.Type == Executable) {
		return false
	}
	hash := digest.NewWriter()
	// A file that grows meanwhile is not read beyond its expected size.
	n, err := cache.Copy(ctx, hash, io.LimitReader(f, e.Size+1))
	return err == nil && n == e.Size && hash.ID() == e.ID
}

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
	if err := lists.Each(list, func(name string) error { return s.entry(fd, name, name) }); err != nil {
		return err
	}
	_, err = s.hash.Write([]byte("/"))
	return err
}
