package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
)

// keepAfter is how long after its time limit, or after its start when it has
// none, a command of a dead process waits to be resumed.
const keepAfter = 24 * time.Hour

// Sweep removes what dead processes left on the machine: commands that cannot
// be resumed at once; others a day after their time limit (the log's keeper
// stopped them at it), or after their start when they have none; all of them
// when the machine was started again since; volumes likewise; and images
// that nobody used for Options.ImageAge. What a live process holds is left
// alone.
func (e *Executor) Sweep(ctx context.Context) error { return e.sweep(ctx, false) }

// Purge is Sweep without waiting for anybody: it removes whatever no live
// process holds, images too.
func (e *Executor) Purge(ctx context.Context) error { return e.sweep(ctx, true) }

func (e *Executor) sweep(ctx context.Context, all bool) error {
	ctx, c, err := e.connect(ctx)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	runs, err := e.runs(ctx, c)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	var errs []error
	for _, id := range sortedKeys(runs) {
		if err := e.sweepRun(ctx, c, id, runs[id], all); err != nil {
			errs = append(errs, fmt.Errorf("sweep %s: %w", id, err))
		}
	}
	errs = append(errs, e.sweepVolumes(all), e.sweepImages(ctx, c, all))
	return errors.Join(errs...)
}

// runs lists the names of all runs that left a container, a snapshot or a
// folder, with their folders.
func (e *Executor) runs(ctx context.Context, c *client.Client) (map[string]string, error) {
	runs := map[string]string{}
	containers, err := c.ContainerService().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	for _, ct := range containers {
		if dir := ct.Labels[labelState]; dir != "" {
			runs[ct.ID] = dir
		}
	}
	left, err := e.snapshots(ctx, c)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(e.opts.StateDir, "runs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	for _, id := range left {
		if _, ok := runs[id]; !ok {
			runs[id] = e.runDir(id)
		}
	}
	return runs, nil
}

// snapshots lists the writable snapshots of runs.
func (e *Executor) snapshots(ctx context.Context, c *client.Client) ([]string, error) {
	var names []string
	err := c.SnapshotService(e.opts.Snapshotter).Walk(ctx, func(_ context.Context, info snapshots.Info) error {
		if _, ok := info.Labels[labelRun]; ok {
			names = append(names, info.Name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	return names, nil
}

// sweepRun removes one run unless it is held or may be resumed.
func (e *Executor) sweepRun(ctx context.Context, c *client.Client, id, dir string, all bool) error {
	held, err := take(dir)
	if errors.Is(err, errHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	rec, err := loadRecord(dir)
	if err == nil && !all && rec.waits() {
		return held.drop()
	}
	if err := e.discard(ctx, c, id); err != nil {
		return errors.Join(err, held.drop())
	}
	return held.remove()
}

// waits reports whether the run may still be resumed.
func (r record) waits() bool {
	until := r.Started.Add(r.Timeout + r.Grace + keepAfter)
	return r.Resume && r.Boot == bootID() && time.Now().Before(until)
}

func (e *Executor) sweepVolumes(all bool) error {
	dirs, err := filepath.Glob(filepath.Join(e.opts.StateDir, "volumes", "*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		held, err := take(dir)
		if err != nil {
			if !errors.Is(err, errHeld) {
				errs = append(errs, err)
			}
			continue
		}
		rec, err := loadVolume(dir)
		if err == nil && !all && rec.Boot == bootID() && time.Now().Before(rec.Until) {
			errs = append(errs, held.drop())
			continue
		}
		if err == nil {
			err = rec.remove()
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("sweep volume %s: %w", rec.Dir, err), held.drop())
			continue
		}
		errs = append(errs, held.remove())
	}
	return errors.Join(errs...)
}

// sweepImages removes images that only the runtime uses and has not used for
// long. Layers go with the last image that has them.
func (e *Executor) sweepImages(ctx context.Context, c *client.Client, all bool) error {
	list, err := c.ImageService().List(ctx)
	if err != nil {
		return fmt.Errorf("sweep images: %w", err)
	}
	containers, err := c.ContainerService().List(ctx)
	if err != nil {
		return fmt.Errorf("sweep images: %w", err)
	}
	var errs []error
	for _, image := range list {
		used, err := time.Parse(time.RFC3339, image.Labels[labelUsed])
		if err != nil || (!all && time.Since(used) < e.opts.ImageAge) {
			continue
		}
		inUse := false
		for _, ct := range containers {
			inUse = inUse || ct.Image == image.Name
		}
		if inUse {
			continue
		}
		if err := c.ImageService().Delete(ctx, image.Name, images.SynchronousDelete()); err != nil && !errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("sweep image %s: %w", image.Name, err))
		}
	}
	return errors.Join(errs...)
}

// Inventory is what the runtime has on the machine, sorted.
type Inventory struct {
	Containers, Tasks, Snapshots, Leases, Images []string
	// Runs and Volumes are the runtime's own folders, Loops the files behind
	// loop devices.
	Runs, Volumes, Loops []string
}

// Running reports whether anything is there besides images, which are kept for
// the next run.
func (i Inventory) Running() bool {
	return len(i.Containers)+len(i.Tasks)+len(i.Snapshots)+len(i.Leases)+len(i.Runs)+len(i.Volumes)+len(i.Loops) > 0
}

// Inventory lists what the runtime has on the machine.
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
		if _, err := ct.Task(ctx, nil); err == nil {
			inv.Tasks = append(inv.Tasks, ct.ID())
		}
	}
	if inv.Snapshots, err = e.snapshots(ctx, c); err != nil {
		return inv, err
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
	inv.Runs = names(filepath.Join(e.opts.StateDir, "runs"))
	inv.Volumes = names(filepath.Join(e.opts.StateDir, "volumes"))
	inv.Loops = loops()
	for _, list := range [][]string{inv.Containers, inv.Tasks, inv.Snapshots, inv.Leases, inv.Images} {
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

// loops lists the volumes behind loop devices.
func loops() (list []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if name := strings.TrimSpace(string(text)); err == nil && strings.HasSuffix(strings.TrimSuffix(name, " (deleted)"), volumeSuffix) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
