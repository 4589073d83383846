package agentrun

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
)

// defaultDisk is the default of disk_limit. It exceeds what agents are known to need
// besides their data, but is too small to fill a disk unnoticed.
const defaultDisk = "100GiB"

// unlimited is the value of disk_limit for no limit.
const unlimited = "unlimited"

// checkDisk sets the agent's disk limit. resources.disk, which also reserves space,
// overrides disk_limit, which does not.
func (a *attempt) checkDisk() (err error) {
	a.disk = a.raw.Limits.DiskBytes
	if a.disk > 0 || a.args.Disk == unlimited {
		return nil
	}
	if a.disk, err = step.ParseSize(a.args.Disk); err == nil && a.disk < smallestVolume {
		err = fmt.Errorf("%s is less than the minimum, %d MiB", a.args.Disk, smallestVolume>>20)
	}
	if err != nil {
		err = fmt.Errorf("%w; or write %q", err, unlimited)
	}
	return step.WrongArg("disk_limit", err)
}

// The disk is measured repeatedly where no file system enforces the limit. The pause
// between two measurements is at least diskPause and at least diskRest times as long as
// the last one took.
const (
	diskPause = time.Second
	diskRest  = 10
)

var errDisk = errors.New("the agent exceeded its disk limit")

// watchDisk ends the attempt when the agent exceeds its disk limit and no volume
// enforces it. It measures from outside, so it misses files that are deleted but still
// open, and a fast writer exceeds the limit for a moment.
func (r *running) watchDisk(ctx context.Context, end context.CancelCauseFunc) {
	if r.disk == 0 || r.dirs.volume != "" {
		return
	}
	before := r.dirs.stored()
	for pause := diskPause; ; {
		if progress.Sleep(ctx, pause) != nil {
			return
		}
		began := time.Now()
		if stored := r.dirs.stored() - before; stored > r.disk {
			r.env.Note("stopped: the agent stored %d bytes, more than its limit of %d (resources.disk or disk_limit)", stored, r.disk)
			end(errDisk)
			return
		}
		pause = max(diskPause, diskRest*time.Since(began))
	}
}

// storable is the maximum size of the files that are taken from the agent.
func (a *attempt) storable() int64 {
	if a.disk == 0 {
		return math.MaxInt64
	}
	return a.disk
}

// stored returns the size of the agent's folders.
func (l layout) stored() (bytes int64) {
	for _, dir := range []string{l.home, l.tmp} {
		n, _ := tree.Measure(dir) // as far as they can be read
		bytes += n
	}
	return bytes
}
