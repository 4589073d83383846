package disk

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk/index"
	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// victim is a record that may be evicted.
type victim struct {
	index.Placed
	rec *cache.Record
}

// roundVictims limits how many records one round evicts, so that their
// tombstones fit into the space kept free for the index even on a full disk.
const roundVictims = 5000

// evict drops records, and removes the objects that only they referred to, until
// the cache has the wanted size. It works in rounds: on a full disk, each round
// makes the space for the tombstones of the next.
func (g *collector) evict() error {
	for g.opts.MaxSize > 0 && g.left() > g.opts.MaxSize {
		before := g.left()
		if err := g.evictRound(); err != nil {
			return err
		}
		if g.left() == before {
			g.res.Kept = fmt.Sprintf("%s are pinned, in use or too new", sizeText(before))
			break
		}
	}
	return nil
}

func (g *collector) evictRound() error {
	g.free, g.freed = nil, 0
	victims, err := g.choose()
	if err != nil {
		return err
	}
	if victims, err = g.spare(victims); err != nil {
		return err
	}
	if !g.opts.DryRun {
		if victims, err = g.dropVictims(victims); err != nil {
			return err
		}
	}
	for _, v := range victims {
		g.gone[v.ID] = true
		g.res.Evicted = append(g.res.Evicted, g.c.item(v.rec, v.Entry))
	}
	if err := lists.Each(g.free, g.keepIfUsed); err != nil {
		return err
	}
	before := g.freeObjects
	g.freeObjects += int64(len(g.free))
	for batch := range slices.Chunk(g.free, removeBatch) {
		if err := g.remove(batch); err != nil {
			return err
		}
		before += int64(len(batch))
		g.tell("evicting", before, g.freeObjects)
	}
	return nil
}

// left returns the size of the objects that have not been removed so far.
func (g *collector) left() int64 { return g.total.bytes - g.res.Bytes }

// choose unmarks the least recently used records until they free enough.
// Records without content free nothing and stay.
func (g *collector) choose() ([]victim, error) {
	list, err := g.c.records.index.Snapshot()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b index.Placed) int { // least recently used first
		return cmp.Or(cmp.Compare(a.Used, b.Used), bytes.Compare(a.ID[:], b.ID[:]))
	})
	var victims []victim
	first := len(list) // the records of the kinds in Options.Last are appended, to be seen again
	for i := 0; i < len(list); i++ {
		if g.left()-g.freed <= g.opts.MaxSize || len(victims) == roundVictims {
			break
		}
		p := list[i]
		if g.gone[p.ID] || g.pinned[p.ID] || g.live.uses(p.ID) {
			continue
		}
		rec, e, err := g.c.records.index.Get(p.ID)
		if err != nil {
			return nil, err
		}
		if rec == nil || e.At != p.At || len(slices.Collect(rec.Outputs.Refs())) == 0 {
			continue
		}
		if i < first && slices.Contains(g.c.opts.Last, rec.Kind) {
			list = append(list, p)
			continue
		}
		useful, err := g.unmark(rec)
		if err != nil {
			return nil, err
		}
		if useful {
			victims = append(victims, victim{p, rec})
		}
	}
	return victims, nil
}

// unmark removes the marks of a record. If everything that would lose its last
// mark is in use or too young and stays anyway, it does nothing and returns
// false.
func (g *collector) unmark(rec *cache.Record) (useful bool, err error) {
	lost, bytes := len(g.free), g.freed
	if err := outputs(rec, func(ref cache.Ref) error { return g.marks.remove(ref, g.freeObject) }); err != nil {
		return false, err
	}
	if len(g.free) == lost || g.freed > bytes {
		return true, nil
	}
	g.free = g.free[:lost]
	return false, outputs(rec, g.marks.add)
}

// freeObject notes an object that has lost its last reference.
func (g *collector) freeObject(id digest.ContentID) error {
	g.free = append(g.free, id)
	for _, twin := range []bool{false, true} {
		f, err := g.c.objects.stat(id, twin)
		if err == nil && !g.young(id, twin, f) && !g.live.uses(id) {
			g.freed += f.size
		}
		if err := ignoreMissing(err); err != nil {
			return err
		}
	}
	return nil
}

// spare keeps the victims whose content stays anyway because something else
// refers to all of it.
func (g *collector) spare(victims []victim) ([]victim, error) {
	keep := victims[:0]
	for _, v := range victims {
		all := true
		for ref := range v.rec.Outputs.Refs() {
			all = all && g.marks.marked(ref.ID)
		}
		if !all {
			keep = append(keep, v)
			continue
		}
		if err := outputs(v.rec, g.marks.add); err != nil {
			return nil, err
		}
	}
	return keep, nil
}

// dropVictims drops the records, except those whose content a process has just
// begun to use. It returns the dropped ones.
func (g *collector) dropVictims(victims []victim) ([]victim, error) {
	chosen := make(map[digest.ActionID]int64, len(victims))
	for _, v := range victims {
		chosen[v.ID] = v.At
	}
	dropped, err := g.c.records.index.Drop(chosen, g.reason)
	if isFull(err) && g.c.quota.spendReserve() {
		dropped, err = g.c.records.index.Drop(chosen, g.reason)
	}
	if err != nil {
		return nil, err
	}
	g.c.hooks.at("dropped")
	gone := lists.Set(dropped)
	// A process marks the content of a record right after it looked the record up.
	// So any process that saw the record before it was dropped has marked the
	// content by now, and later ones do not find the record.
	if g.live, err = g.c.leases.live(); err != nil {
		return nil, err
	}
	var lost []victim
	for _, v := range victims {
		if gone[v.ID] && !g.live.uses(v.ID) {
			lost = append(lost, v)
			continue
		}
		if err := g.restore(v, gone[v.ID]); err != nil {
			return nil, err
		}
	}
	return lost, nil
}

// restore marks a record's content again. If the record was dropped, and not
// recorded again since, it is put back.
func (g *collector) restore(v victim, dropped bool) error {
	if err := outputs(v.rec, g.marks.add); err != nil || !dropped {
		return err
	}
	line, err := index.Encode(v.rec, v.Used)
	if err != nil {
		return err
	}
	return g.c.records.index.Restore(v.ID, line)
}

// drafts are objects that this process stored first, for one owner each. The bits of the
// lease cannot tell them apart from what else the process uses.
type drafts struct {
	mu   sync.Mutex
	list map[digest.ContentID]draft
}

type draft struct {
	owner any
	// shared means that somebody else has stored or looked for the object since.
	shared bool
}

// begin makes an object a draft before it gets its name, where others may find it. The
// function that it returns is called with whether the object was new.
func (d *drafts) begin(ctx context.Context, id digest.ContentID) (end func(fresh bool)) {
	owner := cache.DraftsOf(ctx)
	if owner == nil {
		d.claim(ctx, id)
		return func(bool) {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.list[id]; known {
		return func(bool) { d.claim(ctx, id) }
	}
	d.list[id] = draft{owner: owner}
	return func(fresh bool) {
		if !fresh {
			d.forget(id)
		}
	}
}

// claim makes a draft of another owner shared.
func (d *drafts) claim(ctx context.Context, id digest.ContentID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if was, ok := d.list[id]; ok && was.owner != cache.DraftsOf(ctx) {
		d.list[id] = draft{was.owner, true}
	}
}

func (d *drafts) forget(id digest.ContentID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.list, id)
}

// of returns the drafts of an owner and whether each is shared.
func (d *drafts) of(owner any) map[digest.ContentID]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := map[digest.ContentID]bool{}
	for id, one := range d.list {
		if one.owner == owner {
			list[id] = one.shared
		}
	}
	return list
}

// Prune implements cache.Drafter. It follows the rules of a collection, except that the
// process's own bits do not keep the drafts.
func (c *Cache) Prune(ctx context.Context, keep ...cache.Ref) (map[digest.ContentID]bool, error) {
	owner := cache.DraftsOf(ctx)
	if owner == nil || c.readOnly || len(c.objects.drafts.of(owner)) == 0 {
		return nil, nil
	}
	var gone map[digest.ContentID]bool
	g, end, err := c.collector(ctx)
	if err == nil {
		defer end()
		g.leases = c.leases.others
		gone, err = g.prune(c.objects.drafts.of(owner), keep)
	}
	if err != nil {
		err = fmt.Errorf("remove superseded content: %w", err)
	}
	return gone, err
}

// prune removes those of the drafts that nothing leads to.
func (g *collector) prune(drafts map[digest.ContentID]bool, keep []cache.Ref) (gone map[digest.ContentID]bool, err error) {
	if err := g.markAll(); err != nil {
		return nil, err
	}
	others, err := g.c.leases.others()
	if err != nil {
		return nil, err
	}
	if err := lists.Each(keep, g.marks.add); err != nil {
		return nil, err
	}
	// What a draft in use leads to is marked before anything is removed.
	for id, shared := range drafts {
		if !shared && !others.uses(id) {
			continue
		}
		kind, err := g.c.objects.kindOf(id)
		if err == nil {
			err = g.marks.add(cache.Ref{Kind: kind, ID: id})
		}
		if ignoreMissing(err) != nil {
			return nil, err
		}
	}
	ids := slices.DeleteFunc(slices.Collect(maps.Keys(drafts)), g.marks.marked)
	err, gone = g.remove(ids), map[digest.ContentID]bool{}
	for _, id := range ids {
		if _, bad := g.c.objects.stat(id, false); bad != nil && ignoreMissing(bad) == nil {
			g.c.objects.drafts.forget(id)
			gone[id] = true
		}
	}
	return gone, err
}
