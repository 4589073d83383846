package containerd

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs/pkg/errgrpc"
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
func (e *Executor) Inventory(ctx context.Context) (Inventory, error) {
	ctx, c, err := e.connect(ctx)
	if err != nil {
		return Inventory{}, err
	}
	var inv Inventory
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
	left, err := e.snapshots(ctx, c)
	if err != nil {
		return inv, err
	}
	inv.Snapshots = slices.Collect(maps.Keys(left))
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
	for _, s := range e.shims() {
		inv.Shims = append(inv.Shims, s.id)
	}
	inv.Runs = names(filepath.Join(e.opts.StateDir, "runs"))
	inv.Volumes = names(filepath.Join(e.opts.StateDir, "volumes"))
	inv.Loops = loops(e.volumeSuffix())
	for _, list := range [][]string{inv.Containers, inv.Tasks, inv.Snapshots, inv.Leases, inv.Images, inv.Shims} {
		slices.Sort(list)
	}
	return inv, nil
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
