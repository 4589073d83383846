package agentrun

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/outcome"
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
	paced(ctx, diskPause, diskRest, func() (goesOn bool) {
		stored := r.dirs.stored() - before
		if stored > r.disk {
			r.env.Note("stopped: the agent stored %d bytes, more than its limit of %d (resources.disk or disk_limit)", stored, r.disk)
			end(errDisk)
		}
		return stored <= r.disk
	})
}

// paced looks repeatedly until ctx ends or look returns false. The pause before a look is at
// least as given, and at least rest times as long as the last look took.
func paced(ctx context.Context, least time.Duration, rest int, look func() (goesOn bool)) {
	for pause := least; progress.Sleep(ctx, pause) == nil; {
		began := time.Now()
		if !look() {
			return
		}
		pause = max(least, time.Duration(rest)*time.Since(began))
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

const (
	// spacePause is the time between two looks at the space that is left on the disk.
	spacePause = 200 * time.Millisecond
	// mostReserve limits the space that is kept for harvests, which is a part of the space
	// that is free when the first attempt starts: 1/reservePart.
	mostReserve, reservePart = 1 << 30, 20
	// fullDisk is the free space below which agents cannot work.
	fullDisk = 1 << 20
	// spaceRest is the time in which the folders of an attempt that has ended go.
	spaceRest = 5 * time.Second
)

// errFull means that the disk is full and the agent did not fill it.
var errFull = fmt.Errorf("%w: the disk became full, and not by this agent; free space (or inodes, see df -i) on it, or move the cache with --cache-dir", cache.ErrSpace)

// guard watches the disk that the attempts of a run share. When it is almost full, it
// ends the attempt that stores the most beyond its resources.disk, so that the space for
// the harvests of all attempts stays.
type guard struct {
	// free returns the free space at a path, 0 if it is unknown; nil is no guard.
	free func(path string) (int64, error)

	mu       sync.Mutex
	attempts map[*running]*watchedDisk
	// ended is the attempt that was ended last, until its folders are gone; rest is the
	// time until which other ends are waited for.
	ended *running
	rest  time.Time
	// looked is the time of the last look, which is one for all attempts.
	looked time.Time
}

// watchedDisk is the disk of one attempt.
type watchedDisk struct {
	end context.CancelCauseFunc
	// free was the space when the attempt started, before the size of its folders.
	free, before int64
	// short means that the disk was full at some time since.
	short bool
}

// checkSpace refuses to start an attempt for whose harvest there is no space, and says so
// if its limit exceeds the disk.
func (p *place) checkSpace() error {
	free, known := p.deps.guard.space(p.env.WorkDir)
	switch {
	case !known:
		return nil
	case free < smallestVolume:
		return step.Retryable(fmt.Errorf("%w: %s are free on the disk of the cache, and an attempt needs %s for its results; free space (or inodes, see df -i), or move the cache with --cache-dir",
			cache.ErrSpace, inMiB(free), inMiB(smallestVolume)), 0)
	case p.disk > free && p.args.Disk != defaultDisk:
		p.env.Warn(fmt.Sprintf("disk_limit is %s, and %s are free on the disk of the cache: the attempt that fills the disk ends as %s", inMiB(p.disk), inMiB(free), outcome.OutOfDisk))
	}
	return nil
}

func inMiB(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// enter counts an attempt that starts. end ends it.
func (g *guard) enter(r *running, end context.CancelCauseFunc) {
	free, known := g.space(r.dirs.root)
	if !known {
		return
	}
	w := &watchedDisk{end: end, free: free, before: r.dirs.stored()}
	g.mu.Lock()
	if g.attempts == nil {
		g.attempts = map[*running]*watchedDisk{}
	}
	g.attempts[r] = w
	g.mu.Unlock()
	r.opened = append(r.opened, func(bool) error { g.leave(r); return nil })
}

// watch watches the disk until ctx ends.
func (g *guard) watch(ctx context.Context, r *running) {
	for g.free != nil && progress.Sleep(ctx, spacePause) == nil {
		g.mu.Lock()
		recent := time.Since(g.looked) < spacePause/2
		g.mu.Unlock()
		if !recent {
			g.look(r)
		}
	}
}

// leave forgets an attempt whose outputs are stored.
func (g *guard) leave(r *running) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.attempts, r)
	if g.ended == r {
		g.ended, g.rest = nil, time.Now().Add(spaceRest)
	}
}

// blamed returns the cause for which an agent that has ended by itself must not count as
// such: it filled the disk, or the disk was full and it did not get done.
func (g *guard) blamed(r *running, ok bool) error {
	g.look(r)
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.attempts[r]
	switch {
	case w == nil:
		return nil
	case g.ended == r:
		return errDisk
	case w.short && !(ok && r.hasSubmission()):
		return errFull
	}
	return nil
}

// look ends an attempt if the disk is almost full: the largest, if the agents store at
// least half of what was used since the first of them started. Otherwise something else
// filled the disk, and on a full one, none of the agents can work.
func (g *guard) look(r *running) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looked = time.Now()
	free, _ := g.space(r.dirs.root)
	reserve, most := g.reserve()
	if free >= reserve {
		return
	}
	if free < fullDisk {
		for _, w := range g.attempts {
			w.short = true
		}
	}
	if g.ended != nil || time.Now().Before(g.rest) {
		return
	}
	var largest *running
	var over, sum int64
	for other, w := range g.attempts {
		stored := other.dirs.stored() - w.before
		sum += max(0, stored)
		if beyond := stored - other.env.Limits.DiskBytes; beyond > over {
			largest, over = other, beyond
		}
	}
	switch {
	case largest != nil && sum >= (most-free)/2:
		largest.env.Note("stopped: the disk is full, and of the agents on it this one stores the most, %d bytes beyond its resources.disk", over)
		g.ended = largest
		g.attempts[largest].end(errDisk)
	case free < fullDisk:
		for _, w := range g.attempts {
			w.end(errFull)
		}
	}
}

// hasSubmission reports whether the agent left a submission that is not empty.
func (r *running) hasSubmission() bool {
	f, info, err := r.dirs.openSubmission()
	return f != nil && err == nil && f.Close() == nil && info.Size() > 0
}

// makeSpace removes what is not harvested of an attempt that filled the disk and then, as
// far as the space does not suffice, the rest. It limits the harvest to what fits.
func (r *running) makeSpace() {
	g := &r.deps.guard
	g.mu.Lock()
	mine, reserve := g.ended == r, int64(0)
	if mine {
		reserve, _ = g.reserve()
	}
	g.mu.Unlock()
	if !mine {
		return
	}
	home := func(name string) string { return filepath.Join(r.dirs.home, name) }
	var err error
	for _, dir := range []string{home("agent"), r.dirs.tmp, home("code"), home("logs"), home("submission")} {
		if free, _ := g.space(r.dirs.root); free < reserve {
			err = errors.Join(err, tree.Remove(dir))
		}
	}
	if err != nil {
		r.env.Note("make space on the disk: %v", r.mask.Error(err))
	}
	if free, known := g.space(r.dirs.root); known {
		r.room = max(0, free-smallestVolume/4)
	}
}

// space returns the free space of a disk, or false if it is unknown.
func (g *guard) space(path string) (int64, bool) {
	if g.free == nil {
		return 0, false
	}
	free, err := g.free(path)
	info, statErr := os.Stat(path)
	return free, err == nil && (free > 0 || statErr == nil && info.IsDir())
}

// reserve returns the space that stays free for harvests, and the most that was free when
// an attempt started.
func (g *guard) reserve() (reserve, most int64) {
	for _, w := range g.attempts {
		most = max(most, w.free)
	}
	return min(mostReserve, most/reservePart), most
}
