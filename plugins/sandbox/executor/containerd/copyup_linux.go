package containerd

import (
	"context"
	"fmt"

	"github.com/containerd/containerd/v2/core/mount"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/copyup"
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
			if err := copyup.Copy(ctx, root, m, r.users.of(user.UID), r.users.of(user.GID)); err != nil {
				return fmt.Errorf("copy %s from the image: %w", m.Guest, err)
			}
		}
		return nil
	})
}
