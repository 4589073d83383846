package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/containerd/containerd/v2/core/mount"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/copyup"
)

// prepareRoot prepares the container's root file system before the task is created.
func (r *run) prepareRoot(ctx context.Context) error {
	copies := slices.ContainsFunc(r.spec.Mounts, func(m executor.Mount) bool { return m.CopyUp })
	if !copies && r.users == (users{}) {
		return nil
	}
	return r.withRoot(ctx, func(root string) error {
		return errors.Join(r.copyUp(ctx, root), r.makeMountPoints(ctx, root))
	})
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
