package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/v2/core/mount"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/copyup"
)

// prepareRoot checks and prepares the container's root file system before the task is
// created.
func (r *run) prepareRoot(ctx context.Context) error {
	return r.withRoot(ctx, func(root string) error {
		if err := checkRoot(root); err != nil {
			return fmt.Errorf("image %s: %w", r.spec.Image, err)
		}
		return errors.Join(r.copyUp(ctx, root), r.makeMountPoints(ctx, root))
	})
}

// checkRoot refuses a root file system in which a folder of the kernel is a link: the
// runtime creates devices as the host's root, some versions by following it.
func checkRoot(root string) error {
	for _, name := range []string{"dev", "proc", "sys"} {
		info, err := os.Lstat(filepath.Join(root, name))
		if err == nil && !info.IsDir() {
			return fmt.Errorf("its /%s is no folder, so the container could write outside it; build the image with a folder, or without /%s", name, name)
		}
	}
	return nil
}

// withRoot calls f with a folder where the container's root file system is mounted. The
// folder is one of the run's views. If this process is killed, whoever clears up after
// it unmounts the folder too.
func (r *run) withRoot(ctx context.Context, f func(root string) error) (err error) {
	mounts, err := r.c.SnapshotService(r.e.opts.Snapshotter).Mounts(ctx, r.id)
	if err != nil {
		return fmt.Errorf("mount the image: %w", err)
	}
	root := r.claim.Path(viewPrefix + "root")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	mounts = mount.RemoveVolatileOption(mounts)
	defer func() { err = errors.Join(err, mount.UnmountMounts(mounts, root, 0)) }()
	if err := mount.All(mounts, root); err != nil {
		return fmt.Errorf("mount the image: %w", err)
	}
	return f(root)
}

// copyUp copies the image's content at the mounts into the host's folders.
func (r *run) copyUp(ctx context.Context, root string) error {
	user, err := parseUser(r.spec.Sandbox.User)
	if err != nil {
		return err
	}
	return copyup.Copy(ctx, root, r.spec.Mounts, r.users.of(user.UID), r.users.of(user.GID))
}
