package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// Sweep removes the remains of dead processes. Commands that cannot be resumed are
// removed at once. The others are removed a day after their time limit or, if they have
// none, after their start. Images are removed after Options.ImageAge without use.
// Anything that a live process holds stays.
func (e *Executor) Sweep(context.Context) error { return e.sweep(false) }

// Purge is Sweep without waiting times.
func (e *Executor) Purge(context.Context) error { return e.sweep(true) }

func (e *Executor) sweep(all bool) error {
	err := claim.SweepAll(filepath.Join(e.opts.Dir, "runs"), func(dir string) error { return sweepRun(dir, all) })
	return errors.Join(err, e.sweepImages(all))
}

// sweepRun removes a run, unless it is held or can be resumed.
func sweepRun(dir string, all bool) error {
	return claim.Sweep(dir, func() (stays bool, err error) {
		rec, err := loadRecord(dir)
		_, ended := loadEnd(dir)
		if err == nil && !all && rec.Waits() && (ended || rec.alive()) {
			return true, nil
		}
		return false, rec.kill()
	})
}

// sweepImages removes images that have not been used for long.
func (e *Executor) sweepImages(all bool) error {
	age := e.opts.ImageAge
	if all {
		age = 0
	}
	return errors.Join(
		image.Sweep(filepath.Join(e.opts.Dir, "programs"), age, os.RemoveAll),
		image.Sweep(filepath.Join(e.opts.Dir, "images"), age, sweepImage))
}

// sweepImage removes an image that nothing uses.
func sweepImage(dir string) error {
	lock, err := nolink.Open(filepath.Join(dir, lockName))
	if err != nil {
		if strings.HasPrefix(filepath.Base(dir), ".work-") {
			removeAll(dir)
		}
		return nil //nolint:nilerr // another process was faster, or it is a lock
	}
	defer lock.Close()
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	if err := os.Remove(filepath.Join(dir, configName)); err != nil { // processes that wait for the lock notice it
		return err
	}
	removeAll(dir)
	return nil
}
