package disk

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// records checks the records that pick chooses, and drops those that lead to a
// broken or missing object.
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
			v.damage(Damage{Action: rec.Action, Address: rec.Address, Text: "its content is missing or wrong; the record was dropped, so the step runs again"})
		}
		return err
	})
	if err != nil || len(chosen) == 0 || v.c.readOnly {
		return err
	}
	_, err = v.c.records.drop(chosen, "corrupt")
	return err
}

// undecodable drops the records whose line is complete but cannot be decoded.
func (v *verifier) undecodable() error {
	list, err := v.c.records.index.snapshot()
	if err != nil {
		return err
	}
	chosen := make(map[digest.ActionID]int64)
	for _, p := range list {
		if _, _, err := v.c.records.index.get(p.id); errors.Is(err, errPayload) {
			chosen[p.id] = p.at
			v.damage(Damage{Action: p.id, Text: "its record cannot be decoded; it was dropped, so the step runs again"})
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

// rest checks the index file and the pins.
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
				v.damage(Damage{Object: ref.ID, Text: fmt.Sprintf("pinned by %q, but missing", p.Name)})
			}
		}
	}
	return nil
}

// indexFile searches the index for bytes that belong to no frame, and rewrites
// it without them. What a killed writer left of a frame is no damage: nothing
// that was recorded is lost.
func (v *verifier) indexFile() error {
	ix := v.c.records.index
	look := func() error {
		ix.mu.RLock()
		unfinished, bad := ix.gaps()
		ix.mu.RUnlock()
		if unfinished > 0 {
			v.res.Notes = append(v.res.Notes, fmt.Sprintf("%d bytes of the index are the beginnings of records whose writers were killed or found the disk full; nothing that was recorded is lost", unfinished))
		}
		if bad > 0 {
			v.damage(Damage{Text: fmt.Sprintf("the index contains %d bytes that are not a record; if they were part of one, its step runs again", bad)})
		}
		if unfinished+bad == 0 || v.c.readOnly {
			return nil
		}
		return ix.rewrite()
	}
	if v.c.readOnly {
		return look()
	}
	return ix.locked(look)
}

// gaps returns the number of bytes of frames that were not written whole, and
// that of other bytes that belong to no frame. It needs mu for reading.
func (ix *index) gaps() (unfinished, bad int) {
	data := ix.log.bytes()
	if ix.bad == 0 && len(data) <= ix.scanned {
		return 0, 0
	}
	gap := func(b []byte) {
		switch {
		case len(bytes.Trim(b, "\n")) == 0: // the end of a line that was complete except for it
		case torn(b):
			unfinished += len(b)
		default:
			bad += len(b)
		}
	}
	end := min(len(logHeader), len(data))
	scanFrames(data, end, func(_ frame, at, n int) {
		gap(data[end:at])
		end = at + n
	})
	gap(data[end:])
	return unfinished, bad
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

// index detects the loss of the whole index. Objects without any record may
// also belong to steps that have not finished, which is a note and not damage.
func (v *verifier) index() error {
	lost, err := v.c.records.indexLost()
	if err != nil {
		return err
	}
	if !lost {
		if n := v.res.Objects; n > 0 && v.res.Records == 0 {
			v.res.Notes = append(v.res.Notes, fmt.Sprintf("there are %d objects and no records, as before the first step ends; 'mleflow cache gc' removes objects that no record leads to", n))
		}
		return nil
	}
	v.damage(Damage{Text: fmt.Sprintf("the index %s is missing or empty, so all records are lost; steps that run again reuse what is left of %d objects, unless 'mleflow cache gc' removes them first", v.c.records.index.path, v.res.Objects)})
	if v.c.readOnly {
		return nil
	}
	// A new index has no history. Now that the loss was reported, it is accepted.
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
