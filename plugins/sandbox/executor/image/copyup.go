package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// CopyUp copies the content at the path of each mount with CopyUp in the image into the
// mount's folder. root has the image's files. The copies belong to the user uid:gid; -1
// is the caller. Existing files in the folder stay. Neither side is trusted: no link
// leads out of either.
func CopyUp(ctx context.Context, root string, mounts []executor.Mount, uid, gid int) error {
	for _, m := range mounts {
		if !m.CopyUp {
			continue
		}
		c := copier{ctx: ctx, uid: uid, gid: gid}
		if err := c.copy(root, m); err != nil {
			return fmt.Errorf("copy %s from the image: %w", m.Guest, err)
		}
	}
	return nil
}

type copier struct {
	ctx      context.Context
	src, dst *os.Root
	uid, gid int
}

func (c *copier) copy(root string, m executor.Mount) error {
	image, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer image.Close()
	c.src, err = image.OpenRoot(strings.TrimPrefix(path.Clean(m.Guest), "/"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.src.Close()
	if c.dst, err = os.OpenRoot(m.Host); err != nil {
		return err
	}
	defer c.dst.Close()
	return fs.WalkDir(c.src.FS(), ".", c.entry)
}

// entry copies one entry, unless an entry of that name exists.
func (c *copier) entry(name string, d fs.DirEntry, err error) error {
	if err == nil {
		err = c.ctx.Err()
	}
	if err != nil || name == "." {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch {
	case d.IsDir():
		if err = c.dst.Mkdir(name, info.Mode().Perm()|0o700); errors.Is(err, fs.ErrExist) {
			return c.folderThere(name)
		}
	case d.Type()&fs.ModeSymlink != 0:
		err = c.link(name)
	case d.Type().IsRegular():
		err = c.file(name, info.Mode().Perm())
	default: // devices and sockets are useless in a mount without devices
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.dst.Lchown(name, c.uid, c.gid)
}

// folderThere descends into an existing folder. If the entry is not a folder, it is
// left alone.
func (c *copier) folderThere(name string) error {
	info, err := c.dst.Lstat(name)
	if err == nil && !info.IsDir() {
		return fs.SkipDir
	}
	return err
}

func (c *copier) link(name string) error {
	to, err := c.src.Readlink(name)
	if err != nil {
		return err
	}
	return c.dst.Symlink(to, name)
}

func (c *copier) file(name string, mode fs.FileMode) error {
	in, err := c.src.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
