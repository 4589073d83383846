package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk/index"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// GCOptions configure a collection.
type GCOptions struct {
	// MaxSize, if above 0, evicts the least recently used records until the objects
	// take at most this many bytes. 0 removes only objects that no record and no pin
	// needs.
	MaxSize int64
	// DryRun reports the removals without making them.
	DryRun bool
	// Progress, if set, is called with the progress, by one goroutine.
	Progress func(GCProgress)
}

// GCResult counts the removals of a collection, or of one with DryRun.
type GCResult struct {
	// Evicted are the records that were dropped, least recently used first.
	Evicted []Item `json:"evicted"`
	// Objects, Copies (shared folders) and their Bytes were removed; ObjectsLeft
	// and BytesLeft remain.
	Objects     int64 `json:"objects"`
	Copies      int64 `json:"copies"`
	Bytes       int64 `json:"bytes"`
	ObjectsLeft int64 `json:"objects_left"`
	BytesLeft   int64 `json:"bytes_left"`
	// DiskBytes is the part of Bytes that becomes free on disk. A file with another
	// hard link keeps its space.
	DiskBytes int64 `json:"disk_bytes"`
	// Kept is the reason why the requested size was not reached; "" if it was.
	Kept string `json:"kept,omitempty"`
}

// GC removes objects that nothing needs and, with MaxSize, evicts records. It never
// removes objects that are pinned, or that a live process uses, has written or has
// found present. Other processes may continue meanwhile.
func (c *Cache) GC(ctx context.Context, opts GCOptions) (GCResult, error) {
	if err := c.writing("collect garbage"); err != nil {
		return GCResult{}, err
	}
	res, err := c.collect(ctx, opts, "gc", nil)
	if err != nil {
		return res, fmt.Errorf("collect garbage: %w", err)
	}
	return res, nil
}

// collector is one collection.
type collector struct {
	c    *Cache
	ctx  context.Context
	opts GCOptions
	// reason is the reason in the tombstones.
	reason string
	// goal, if set, returns the size to evict to, given the bytes in use and the
	// bytes of all objects.
	goal  goal
	marks *marks
	live  *liveLeases
	// leases reads the leases whose objects stay.
	leases func() (*liveLeases, error)
	// cutoff, the start of the collection, keeps objects that were published
	// or found since; older ones in use are marked in the leases.
	cutoff int64
	// ahead are files whose time was ahead of the clock when they were first seen:
	// either the clock was set back, or another machine wrote them. While their
	// time does not change, they do not count as young.
	ahead  map[file]int64
	pinned map[digest.ActionID]bool
	total  tally
	res    GCResult
	// gone are the records evicted so far.
	gone map[digest.ActionID]bool
	// seen are the objects that were gone through, in recount or in sweep.
	seen int64
	// free are objects that lost their last reference in this round, freeObjects the
	// number of those of all rounds.
	free        []digest.ContentID
	freeObjects int64
	// freed is the size of those that can be removed.
	freed int64
}

// goal is the size to which the objects should shrink.
type goal func(used int64, t tally) int64

func (c *Cache) collect(ctx context.Context, opts GCOptions, reason string, to goal) (GCResult, error) {
	g, end, err := c.collector(ctx)
	if err != nil {
		return GCResult{}, err
	}
	defer end()
	g.opts, g.reason, g.goal = opts, reason, to
	defer c.quota.makeReserve()
	for _, step := range []func() error{g.tidy, g.markAll, g.recount, g.keepUsed, g.sweep, g.dropCopies, g.evict, g.compact} {
		if err := step(); err != nil {
			return g.res, err
		}
	}
	g.res.ObjectsLeft = g.total.objects - g.res.Objects
	g.res.BytesLeft = g.total.bytes - g.res.Bytes
	return g.res, nil
}

// collector begins a collection, which no other process may do until end.
func (c *Cache) collector(ctx context.Context) (_ *collector, end func(), err error) {
	unlock, err := c.lockNamed(ctx, "gc", flock.Try)
	if err != nil {
		return nil, nil, err
	}
	if err := c.records.index.Damage(); err != nil { // or everything would be removed
		unlock()
		return nil, nil, err
	}
	release, err := c.leases.lockHold()
	if err != nil {
		unlock()
		return nil, nil, err
	}
	running := c.state.collecting.Load() | 1 // odd already when one died
	c.state.collecting.Store(running)
	end = func() {
		c.state.collecting.Store(running + 1)
		release()
		unlock()
	}
	return &collector{c: c, ctx: ctx, marks: newMarks(ctx, c.objects), leases: c.leases.live, cutoff: c.now().Unix(), gone: make(map[digest.ActionID]bool)}, end, nil
}

// tidy removes files that dead processes left, records this process's uses, and removes
// the link folders that nobody uses.
func (g *collector) tidy() error {
	if g.opts.DryRun {
		return g.c.leases.reap()
	}
	g.c.work.cleaning.Wait()
	dead, err := g.c.leases.deadProcesses()
	if err != nil {
		return err
	}
	if err := errors.Join(g.c.leases.clean(g.ctx, dead), g.c.records.flushUses(), g.c.ingests.dropOld()); err != nil {
		return err
	}
	return g.c.linkFolders.dropLinks(0) // so that removing an object frees its space
}

// compact rewrites the index if half of it is obsolete.
func (g *collector) compact() error {
	if g.opts.DryRun {
		return nil
	}
	return g.c.records.index.Compact()
}

// markAll counts the references of records and pins.
func (g *collector) markAll() error {
	live, err := g.c.leases.live()
	if err != nil {
		return err
	}
	g.live = live
	pins, err := g.c.Pins(g.ctx)
	if err != nil {
		return err
	}
	g.pinned = make(map[digest.ActionID]bool)
	for _, p := range pins {
		for _, id := range p.Actions {
			g.pinned[id] = true
		}
		if err := lists.Each(p.Refs, g.marks.add); err != nil {
			return err
		}
	}
	return g.c.records.eachRecord(g.ctx, func(rec *cache.Record, _ index.Entry) error { return outputs(rec, g.marks.add) })
}

// recount measures the objects, and corrects the shared counters unless another
// process may have changed them meanwhile.
func (g *collector) recount() error {
	c := g.c
	before, still := c.quota.still()
	used, mine := c.state.used.Load(), c.leases.lease.counted()
	c.hooks.at("recount")
	g.ahead = map[file]int64{}
	t, err := c.objects.count(func(f file, s facts) {
		if s.since > g.cutoff {
			g.ahead[f] = s.since
		}
		if g.seen++; g.seen%1024 == 0 {
			g.tell("counting", g.seen, max(g.seen, c.state.objects.Load()))
		}
	})
	if err != nil {
		return err
	}
	if len(g.ahead) > 0 {
		// Objects published while records were being marked look like older ones. So
		// everything is marked once more, as of now, and not within the same second
		// as these times, since another use could have the same time.
		if err := progress.Sleep(g.ctx, 1100*time.Millisecond); err != nil {
			return err
		}
		g.marks = newMarks(g.ctx, g.c.objects)
		if err := g.markAll(); err != nil {
			return err
		}
	}
	keyed, err := c.ingests.keyedBytes()
	if err != nil {
		return err
	}
	_, shared, err := c.shares.sharedBytes()
	if err != nil {
		return err
	}
	t.bytes += shared
	g.total = t
	there := t.bytes + keyed
	if after, _ := c.quota.still(); g.live.alone() && still && before == after && c.leases.lease.counted() == mine {
		if c.state.used.CompareAndSwap(used, there+mine.sum()) {
			c.state.objects.Store(t.objects)
			used = there + mine.sum()
		}
	} else if used < there && c.state.used.CompareAndSwap(used, there) {
		// A process died after writing its bytes and before counting them.
		used = there
	}
	if g.goal != nil {
		g.opts.MaxSize = max(g.goal(used, t), 1)
	}
	return nil
}

// young reports whether a file was published or found present since the
// collection began.
func (g *collector) young(id digest.ContentID, twin bool, s facts) bool {
	return s.since >= g.cutoff && g.ahead[file{id: id, twin: twin}] != s.since
}

// keepUsed counts a reference to objects that no record leads to but a live
// process uses: objects it has written and not yet recorded, and the outputs of
// a record that was replaced.
func (g *collector) keepUsed() error {
	return g.c.objects.eachFile(func(f file) error {
		if f.stray != "" || f.twin {
			return nil
		}
		return g.keepIfUsed(f.id)
	})
}

func (g *collector) keepIfUsed(id digest.ContentID) error {
	if g.marks.marked(id) || !g.live.uses(id) {
		return nil
	}
	kind, err := g.c.objects.kindOf(id)
	if err != nil {
		return ignoreMissing(err)
	}
	return g.marks.add(cache.Ref{Kind: kind, ID: id})
}

// sweep removes objects that nothing refers to.
func (g *collector) sweep() error {
	g.c.hooks.at("marked")
	g.seen = 0
	return g.c.objects.eachShard(func(b byte, names []string) error {
		var batch []digest.ContentID
		for _, name := range names {
			f := parseObjectName(b, name)
			if f.stray == "" && !f.twin {
				g.seen++
			}
			if f.stray == "" && (len(batch) == 0 || batch[len(batch)-1] != f.id) && !g.marks.marked(f.id) {
				batch = append(batch, f.id)
			}
		}
		err := g.remove(batch)
		g.tell("looking for what nothing needs", g.seen, g.total.objects)
		return err
	})
}

// removeBatch is the number of objects that are removed while ingests wait: few
// enough for them not to notice, many enough for the lock to cost little.
const removeBatch = 64

// remove removes objects that nothing refers to, unless a process has begun to
// use them.
func (g *collector) remove(ids []digest.ContentID) error {
	for batch := range slices.Chunk(ids, removeBatch) {
		if err := g.ctx.Err(); err != nil {
			return err
		}
		if err := g.removeBatch(batch); err != nil {
			return err
		}
	}
	return nil
}

func (g *collector) removeBatch(ids []digest.ContentID) error {
	// Nobody can touch an object while the lock is held, so one that is old when it
	// is looked at is still unused when it is removed.
	return g.c.objects.deleting.hold(flock.Lock, func() error {
		used := &liveLeases{}
		if g.c.grouped {
			var err error
			if used, err = g.leases(); err != nil {
				return err
			}
		}
		for _, id := range ids {
			if g.marks.marked(id) || used.uses(id) {
				continue
			}
			// The twin is removed first, since it can only be found through the object.
			for _, twin := range []bool{true, false} {
				if err := g.removeFile(id, twin); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// removeFile removes one file of an object when it is older than the cutoff.
func (g *collector) removeFile(id digest.ContentID, twin bool) error {
	f, err := g.c.objects.stat(id, twin)
	if err != nil {
		return ignoreMissing(err)
	}
	if g.young(id, twin, f) {
		return nil
	}
	if !g.opts.DryRun {
		g.c.hooks.at("remove")
		if err := os.Remove(g.c.objectPath(id, twin)); err != nil {
			return ignoreMissing(err)
		}
		g.c.quota.removed(f.size, twin)
		g.c.objects.shards[id[0]].forget()
	}
	if !twin {
		g.res.Objects++
	}
	g.res.Bytes += f.size
	if f.links <= 1 {
		g.res.DiskBytes += f.size
	}
	return nil
}

// GCProgress is the progress of one part of a collection.
type GCProgress struct {
	// What is "counting", "looking for what nothing needs" or "evicting".
	What string
	// Done and Total are objects.
	Done, Total int64
	// Removed is the number of bytes that the collection has removed so far.
	Removed int64
}

// tell reports the progress.
func (g *collector) tell(what string, done, total int64) {
	if g.opts.Progress != nil {
		g.opts.Progress(GCProgress{what, done, total, g.res.Bytes})
	}
}
