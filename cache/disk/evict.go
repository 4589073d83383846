package disk

import (
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// victim is a record that may be evicted.
type victim struct {
	placed
	rec *cache.Record
}

// roundVictims is how many records one round evicts at most. Their tombstones
// fit into the reserve.
const roundVictims = 5000

// evict drops records until the size is reached, and removes what only they
// led to, in rounds: on a full disk, one round makes the space for the next.
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
		g.gone[v.id] = true
		g.res.Evicted = append(g.res.Evicted, g.c.item(v.rec, v.entry))
	}
	for _, id := range g.free {
		if err := g.keepIfUsed(id); err != nil {
			return err
		}
	}
	return g.remove(g.free)
}

// left returns the bytes that remain after what was removed so far.
func (g *collector) left() int64 { return g.total.bytes - g.res.Bytes }

// choose takes back the marks of the least recently used records until what
// that frees is enough. Records without content free nothing and stay.
func (g *collector) choose() ([]victim, error) {
	list, err := g.c.records.index.snapshot()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, byUse)
	var victims []victim
	var last []placed
	for i := 0; i < len(list)+len(last); i++ {
		if g.left()-g.freed <= g.opts.MaxSize || len(victims) == roundVictims {
			break
		}
		var p placed
		if i < len(list) {
			p = list[i]
		} else {
			p = last[i-len(list)]
		}
		if g.gone[p.id] || g.pinned[p.id] || g.live.uses(p.id) {
			continue
		}
		rec, e, err := g.c.records.index.get(p.id)
		if err != nil {
			return nil, err
		}
		if rec == nil || e.at != p.at || !hasContent(rec) {
			continue
		}
		if i < len(list) && slices.Contains(g.c.opts.Last, rec.Kind) {
			last = append(last, p)
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

// unmark takes back the marks of a record. Where all that loses its last one
// stays anyway, being in use or too young, it does nothing and returns false.
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

func hasContent(rec *cache.Record) bool {
	for _, v := range rec.Outputs {
		if !v.Ref.IsZero() {
			return true
		}
	}
	return false
}

// freeObject notes an object that lost its last reference.
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

// spare keeps the victims whose content stays anyway, because something else
// leads to all of it.
func (g *collector) spare(victims []victim) ([]victim, error) {
	keep := victims[:0]
	for _, v := range victims {
		all := true
		_ = outputs(v.rec, func(ref cache.Ref) error {
			all = all && g.marks.marked(ref.ID)
			return nil
		})
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

// dropVictims drops the records, and takes back what a process began to use
// in that moment. It returns those that are gone.
func (g *collector) dropVictims(victims []victim) ([]victim, error) {
	chosen := make(map[digest.ActionID]int64, len(victims))
	for _, v := range victims {
		chosen[v.id] = v.at
	}
	dropped, err := g.c.records.drop(chosen, g.reason)
	if isFull(err) && g.c.quota.spendReserve() {
		dropped, err = g.c.records.drop(chosen, g.reason)
	}
	if err != nil {
		return nil, err
	}
	g.c.hooks.at("dropped")
	gone := make(map[digest.ActionID]bool, len(dropped))
	for _, id := range dropped {
		gone[id] = true
	}
	// Whoever looked a record up before it was dropped has marked it by now;
	// whoever comes later does not find it.
	if g.live, err = g.c.leases.live(); err != nil {
		return nil, err
	}
	var lost []victim
	for _, v := range victims {
		if gone[v.id] && !g.live.uses(v.id) {
			lost = append(lost, v)
			continue
		}
		if err := g.restore(v, gone[v.id]); err != nil {
			return nil, err
		}
	}
	return lost, nil
}

// restore marks a record's content again, and puts the record itself back
// when it was dropped and not recorded anew.
func (g *collector) restore(v victim, dropped bool) error {
	if err := outputs(v.rec, g.marks.add); err != nil || !dropped {
		return err
	}
	payload, err := encodeRecord(nil, v.rec)
	if err != nil {
		return err
	}
	line := frame{kind: frameRecord, id: v.id, address: addressHash(v.rec.Address), millis: v.used, payload: payload}.append(nil)
	return g.c.records.index.locked(func() error {
		if rec, _, err := g.c.records.index.get(v.id); rec != nil || err != nil {
			return err
		}
		return g.c.records.index.append(line)
	})
}
