package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

// workAge is the age at which unfinished work counts as abandoned.
const workAge = 24 * time.Hour

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
	var errs []error
	for _, folder := range []string{"images", "programs"} {
		entries, err := os.ReadDir(filepath.Join(e.opts.Dir, folder))
		if err != nil {
			continue // there are no images
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				continue
			}
			age, path := time.Since(info.ModTime()), filepath.Join(e.opts.Dir, folder, entry.Name())
			switch {
			case strings.HasPrefix(entry.Name(), ".work-"):
				if age > workAge {
					removeAll(path)
				}
			case folder == "programs" && (all || age > e.opts.ImageAge):
				errs = append(errs, os.RemoveAll(path))
			case folder == "images" && entry.IsDir() && (all || age > e.opts.ImageAge):
				errs = append(errs, sweepImage(path))
			}
		}
	}
	return errors.Join(errs...)
}

// sweepImage removes an image that nothing uses.
func sweepImage(dir string) error {
	lock, err := nolink.Open(filepath.Join(dir, lockName))
	if err != nil {
		return nil //nolint:nilerr // another process was faster
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
