package disk

import (
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk/index"
)

// records checks the records that pick chooses, and drops those that lead to a
// broken or missing object.
func (v *verifier) records(pick func(index.Entry, *cache.Record) bool) error {
	b := &breakage{c: v.c.objects, broken: v.lost, trees: make(map[digest.ContentID]bool)}
	chosen := make(map[digest.ActionID]int64)
	err := v.c.records.eachRecord(v.ctx, func(rec *cache.Record, e index.Entry) error {
		if !pick(e, rec) {
			return nil
		}
		v.res.Records++
		broken, err := b.record(v.ctx, rec)
		if broken {
			chosen[rec.Action] = e.At
			v.damage(Damage{Action: rec.Action, Address: rec.Address, Text: "its content is missing or wrong; the record was dropped, so the step runs again"})
		}
		return err
	})
	if err != nil {
		return err
	}
	return v.drop(chosen)
}

// drop drops damaged records, if there are any.
func (v *verifier) drop(chosen map[digest.ActionID]int64) error {
	if len(chosen) == 0 || v.c.readOnly {
		return nil
	}
	_, err := v.c.records.index.Drop(chosen, "corrupt")
	return err
}

// undecodable drops the records whose line is complete but cannot be decoded.
func (v *verifier) undecodable() error {
	list, err := v.c.records.index.Snapshot()
	if err != nil {
		return err
	}
	chosen := make(map[digest.ActionID]int64)
	for _, p := range list {
		if _, _, err := v.c.records.index.Get(p.ID); errors.Is(err, index.ErrPayload) {
			chosen[p.ID] = p.At
			v.damage(Damage{Action: p.ID, Text: "its record cannot be decoded; it was dropped, so the step runs again"})
		} else if err != nil {
			return err
		}
	}
	return v.drop(chosen)
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

// indexFile searches the index for bytes that belong to no record, and removes them.
func (v *verifier) indexFile() error {
	unfinished, bad, err := v.c.records.index.Repair()
	if unfinished > 0 {
		v.res.Notes = append(v.res.Notes, fmt.Sprintf("%d bytes of the index are the beginnings of records whose writers were killed or found the disk full; nothing that was recorded is lost", unfinished))
	}
	if bad > 0 {
		v.damage(Damage{Text: fmt.Sprintf("the index contains %d bytes that are not a record; if they were part of one, its step runs again", bad)})
	}
	return err
}

// index detects the loss of the whole index. Objects without any record may
// also belong to steps that have not finished, which is a note and not damage.
func (v *verifier) index() error {
	lost, err := v.c.records.index.WasLost()
	if err != nil {
		return err
	}
	if !lost {
		if n := v.res.Objects; n > 0 && v.res.Records == 0 {
			v.res.Notes = append(v.res.Notes, fmt.Sprintf("there are %d objects and no records, as before the first step ends; 'mleflow cache gc' removes objects that no record leads to", n))
		}
		return nil
	}
	v.damage(Damage{Text: fmt.Sprintf("the index %s is missing or empty, so all records are lost; steps that run again reuse what is left of %d objects, unless 'mleflow cache gc' removes them first", v.c.path(indexName, "log"), v.res.Objects)})
	if v.c.readOnly {
		return nil
	}
	// Now that the loss was reported, it is accepted.
	return v.c.records.index.Restart()
}
