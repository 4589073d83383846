package claim

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Run is the information about a run of any runtime that a later process needs. The
// records of runtimes embed it.
type Run struct {
	// ID is Spec.ID.
	ID      string        `json:"id"`
	Boot    string        `json:"boot"`
	Started time.Time     `json:"started"`
	Timeout time.Duration `json:"timeout,omitempty"`
	Grace   time.Duration `json:"grace"`
}

// keepAfter is the time for which a command of a dead process can be resumed. It begins
// at the command's time limit or, if there is none, at its start.
const keepAfter = 24 * time.Hour

// ThisBoot reports whether the machine has not been restarted since the run began.
func (r Run) ThisBoot() bool { return r.Boot == BootID() }

// Deadline is the end of the run's time limit; the zero time is no limit.
func (r Run) Deadline() time.Time {
	if r.Timeout == 0 {
		return time.Time{}
	}
	return r.Started.Add(r.Timeout)
}

// Waits reports whether a dead process's run may still be resumed.
func (r Run) Waits() bool {
	return r.ThisBoot() && time.Now().Before(r.Started.Add(r.Timeout+r.Grace+keepAfter))
}

// Sweep removes a folder that no live process holds, after tidy has removed what the
// folder describes, unless tidy says that it must stay.
func Sweep(dir string, tidy func() (stays bool, err error)) error {
	held, err := Take(dir)
	if errors.Is(err, ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	if stays, err := tidy(); stays || err != nil {
		return errors.Join(err, held.Drop())
	}
	return held.Remove()
}

// SweepAll calls sweep for each folder below dir and names those at which it fails.
func SweepAll(dir string, sweep func(dir string) error) error {
	dirs, err := filepath.Glob(filepath.Join(dir, "*"))
	errs := []error{err}
	for _, dir := range dirs {
		if err := sweep(dir); err != nil {
			errs = append(errs, fmt.Errorf("sweep %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}
