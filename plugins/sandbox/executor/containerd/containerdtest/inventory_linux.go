package containerdtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
)

// Inventory lists everything of the runtime on the machine, sorted.
type Inventory struct {
	Containers, Tasks, Snapshots, Leases, Images []string
	// Shims are containerd's processes that supervise containers, by container name.
	Shims []string
	// Runs and Volumes are the runtime's own folders; Loops are the files behind loop
	// devices.
	Runs, Volumes, Loops []string
}

// Running reports whether anything exists besides images, which are kept for the next
// run.
func (i Inventory) Running() bool {
	return len(i.Containers)+len(i.Tasks)+len(i.Snapshots)+len(i.Leases)+len(i.Shims)+len(i.Runs)+len(i.Volumes)+len(i.Loops) > 0
}

// Inventory lists everything of the runtime on the machine.
func (d *Daemon) Inventory(ctx context.Context) (inv Inventory, err error) {
	o := d.Options
	c, err := client.New(o.Socket, client.WithDefaultNamespace(o.Namespace))
	if err != nil {
		return inv, err
	}
	defer c.Close()
	ctx = namespaces.WithNamespace(ctx, o.Namespace)
	containers, err := c.Containers(ctx)
	if err != nil {
		return inv, fmt.Errorf("list containers: %w", err)
	}
	for _, ct := range containers {
		inv.Containers = append(inv.Containers, ct.ID())
	}
	taskList, err := c.TaskService().List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		return inv, fmt.Errorf("list tasks: %w", errgrpc.ToNative(err))
	}
	for _, task := range taskList.Tasks {
		inv.Tasks = append(inv.Tasks, task.ID)
	}
	err = c.SnapshotService(o.Snapshotter).Walk(ctx, func(_ context.Context, info snapshots.Info) error {
		if info.Labels["mleflow.state"] != "" {
			inv.Snapshots = append(inv.Snapshots, info.Name)
		}
		return nil
	})
	if err != nil {
		return inv, fmt.Errorf("list snapshots: %w", err)
	}
	leaseList, err := c.LeasesService().List(ctx)
	if err != nil {
		return inv, fmt.Errorf("list leases: %w", err)
	}
	for _, l := range leaseList {
		inv.Leases = append(inv.Leases, l.ID)
	}
	imageList, err := c.ImageService().List(ctx)
	if err != nil {
		return inv, fmt.Errorf("list images: %w", err)
	}
	for _, i := range imageList {
		inv.Images = append(inv.Images, i.Name)
	}
	inv.Shims = shims(o)
	inv.Runs = names(filepath.Join(o.StateDir, "runs"))
	inv.Volumes = names(filepath.Join(o.StateDir, "volumes"))
	sum := sha256.Sum256([]byte(nolink.Folder(o.StateDir)))
	inv.Loops = loops(".volume-" + hex.EncodeToString(sum[:4]))
	for _, list := range [][]string{inv.Containers, inv.Tasks, inv.Snapshots, inv.Leases, inv.Images, inv.Shims} {
		slices.Sort(list)
	}
	return inv, nil
}

// shims lists the containers for which the daemon has a shim.
func shims(o containerd.Options) (ids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		args := strings.Split(string(text), "\x00")
		if strings.Contains(args[0], "containerd-shim") && slices.Contains(args, o.Namespace) && slices.Contains(args, o.Socket) {
			if i := slices.Index(args, "-id"); i >= 0 && i+1 < len(args) {
				ids = append(ids, args[i+1])
			}
		}
	}
	return ids
}

func names(dir string) (list []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// loops returns the volumes behind loop devices.
func loops(suffix string) (list []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if name := strings.TrimSpace(string(text)); err == nil && strings.HasSuffix(strings.TrimSuffix(name, " (deleted)"), suffix) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}
