package containerd

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

	"github.com/containerd/containerd/v2/core/mount"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// copyUp copies what the image holds at the mounts that ask for it to the
// host's folders, before a task is made.
func (r *run) copyUp(ctx context.Context) error {
	var list []executor.Mount
	for _, m := range r.spec.Mounts {
		if m.CopyUp {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return nil
	}
	mounts, err := r.c.SnapshotService(r.e.opts.Snapshotter).Mounts(ctx, r.id)
	if err != nil {
		return fmt.Errorf("copy from the image: %w", err)
	}
	user, err := parseUser(r.spec.Sandbox.User)
	if err != nil {
		return err
	}
	return mount.WithReadonlyTempMount(ctx, mounts, func(root string) error {
		for _, m := range list {
			c := copier{ctx: ctx, uid: r.users.of(user.UID), gid: r.users.of(user.GID)}
			if err := c.copy(root, m); err != nil {
				return fmt.Errorf("copy %s from the image: %w", m.Guest, err)
			}
		}
		return nil
	})
}

// copier copies a folder of an image. Neither side is trusted: no link leads
// out of either.
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

// entry copies one entry, unless there is one of that name already.
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
	default: // devices and sockets mean nothing in a mount without devices
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

// folderThere goes on below a folder that is there, and leaves alone what is
// none.
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
