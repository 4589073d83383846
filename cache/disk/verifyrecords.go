package disk

import (
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// records follows the records that pick chooses, and drops those that lead
// to a broken or missing object.
func (v *verifier) records(pick func(entry, *cache.Record) bool) error {
	b := &breakage{c: v.c.objects, broken: v.lost, trees: make(map[digest.ContentID]bool)}
	chosen := make(map[digest.ActionID]int64)
	err := v.c.records.eachRecord(v.ctx, func(rec *cache.Record, e entry) error {
		if !pick(e, rec) {
			return nil
		}
		v.res.Records++
		broken, err := b.record(v.ctx, rec)
		if broken {
			chosen[rec.Action] = e.at
			v.damage(Damage{Action: rec.Action, Address: rec.Address, Text: "content it leads to is missing or wrong; its record was dropped, so that it runs again"})
		}
		return err
	})
	if err != nil || len(chosen) == 0 || v.c.readOnly {
		return err
	}
	_, err = v.c.records.drop(chosen, "corrupt")
	return err
}

// undecodable drops the records whose line is whole and makes no sense.
func (v *verifier) undecodable() error {
	list, err := v.c.records.index.snapshot()
	if err != nil {
		return err
	}
	chosen := make(map[digest.ActionID]int64)
	for _, p := range list {
		if _, _, err := v.c.records.index.get(p.id); errors.Is(err, errPayload) {
			chosen[p.id] = p.at
			v.damage(Damage{Action: p.id, Text: "its record cannot be decoded; it was dropped, so that it runs again"})
		} else if err != nil {
			return err
		}
	}
	if len(chosen) == 0 || v.c.readOnly {
		return nil
	}
	_, err = v.c.records.drop(chosen, "corrupt")
	return err
}

// rest looks at the index file and the pins.
func (v *verifier) rest() error {
	if err := v.indexFile(); err != nil {
		return err
	}
	pins, err := v.c.Pins(v.ctx)
	if err != nil {
		return err
	}
	for _, p := range pins {
		for _, ref := range p.Refs {
			if v.lost(ref.ID) {
				v.damage(Damage{Object: ref.ID, Text: fmt.Sprintf("pinned by %q, and missing", p.Name)})
			}
		}
	}
	return nil
}

// indexFile looks for bytes of the index that are no frame, and rewrites it
// without them.
func (v *verifier) indexFile() error {
	ix := v.c.records.index
	look := func() error {
		ix.mu.RLock()
		bad := ix.bad + len(ix.log.bytes()) - ix.scanned
		ix.mu.RUnlock()
		if bad <= 1 { // one line feed may end a line that lacked nothing else
			return nil
		}
		v.damage(Damage{Text: fmt.Sprintf("the index holds %d bytes that are no record, as a writer leaves that dies or finds the disk full; if they were one, its step runs again", bad)})
		if v.c.readOnly {
			return nil
		}
		return ix.rewrite()
	}
	if v.c.readOnly {
		return look()
	}
	return ix.locked(look)
}

// indexLost reports whether the index is missing or empty although it was
// written to.
func (c *records) indexLost() (bool, error) {
	if err := c.index.refresh(); err != nil {
		return false, err
	}
	c.index.mu.RLock()
	defer c.index.mu.RUnlock()
	return c.state.lost.Load() != 0 || c.index.lost(), nil
}

// index looks for an index that is gone as a whole. Objects without any record
// may also be all there is yet; that is told, and is no damage.
func (v *verifier) index() error {
	lost, err := v.c.records.indexLost()
	if err != nil {
		return err
	}
	if !lost {
		if n := v.res.Objects; n > 0 && v.res.Records == 0 {
			v.res.Notes = append(v.res.Notes, fmt.Sprintf("there are %d objects and no record that leads to them, as before the first step has ended; 'mleflow cache gc' removes what nothing leads to", n))
		}
		return nil
	}
	v.damage(Damage{Text: fmt.Sprintf("the index %s is missing or empty, and with it all records; what they led to among %d objects is found again when its step runs, unless 'mleflow cache gc' removes it before", v.c.records.index.path, v.res.Objects)})
	if v.c.readOnly {
		return nil
	}
	// A new index has no history: now that it was told, the loss is accepted.
	return v.c.records.index.locked(func() error {
		if v.c.records.index.lost() {
			v.c.state.changes.Store(0)
			if err := v.c.records.index.create(); err != nil {
				return err
			}
		}
		v.c.state.lost.Store(0)
		return nil
	})
}

// lost reports whether the log is missing or empty although it was written to.
func (ix *index) lost() bool {
	return ix.state.changes.Load() > 0 && len(ix.log.bytes()) <= len(logHeader)
}
