package agentrun

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
)

// defaultDisk is disk_limit where a pipeline says nothing: more than agents are
// known to need in addition to their data, and little enough not to fill a disk unnoticed.
const defaultDisk = "100GiB"

// unlimited is the disk_limit that is none.
const unlimited = "unlimited"

// checkDisk decides how much the agent may store. What resources.disk reserves
// goes before the limit, which reserves nothing.
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

// How often the disk is measured where no file system keeps the limit: with a
// pause of at least diskPause, and of diskRest times as long as measuring took.
const (
	diskPause = time.Second
	diskRest  = 10
)

var errDisk = errors.New("the agent exceeded its disk limit")

// watchDisk ends the attempt when the agent stores more than it may, where no
// volume keeps it to that. It measures from outside, so that files which are
// deleted and still open do not count, and a fast writer gets beyond the limit for
// a moment.
func (r *running) watchDisk(ctx context.Context, end context.CancelCauseFunc) {
	if r.disk == 0 || r.dirs.volume != "" {
		return
	}
	before := r.dirs.stored()
	for pause := diskPause; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
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

// storable is the most that is taken of the agent's files.
func (a *attempt) storable() int64 {
	if a.disk == 0 {
		return math.MaxInt64
	}
	return a.disk
}

// stored returns the size of the agent's folders.
func (l layout) stored() (bytes int64) {
	for _, dir := range []string{l.home, l.tmp} {
		n, _ := tree.Measure(dir) // as far as it can be seen
		bytes += n
	}
	return bytes
}
