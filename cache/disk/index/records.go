package index

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Get returns the record of an action with its entry, or nil if there is none. It
// does not refresh. The error of a record that cannot be decoded is ErrPayload.
func (ix *Index) Get(id digest.ActionID) (*cache.Record, Entry, error) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	e, ok := ix.entries[id]
	if !ok {
		return nil, Entry{}, nil
	}
	data := ix.log.bytes()
	if e.At+int64(e.n) > int64(len(data)) {
		return nil, Entry{}, ErrPayload
	}
	rec, err := decodeRecord(id, data[e.At+framePayloadAt:e.At+int64(e.n)-1])
	if err != nil {
		return nil, Entry{}, err
	}
	return rec, e, nil
}

// Snapshot refreshes, and returns all entries in the order in which they were
// recorded.
func (ix *Index) Snapshot() ([]Placed, error) {
	if err := ix.Refresh(); err != nil {
		return nil, err
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.placed(), nil
}

// placed returns all entries in the order in which they were recorded. It needs mu
// for reading.
func (ix *Index) placed() []Placed {
	list := make([]Placed, 0, len(ix.entries))
	for id, e := range ix.entries {
		list = append(list, Placed{id, e})
	}
	slices.SortFunc(list, func(a, b Placed) int { return cmp.Compare(a.At, b.At) })
	return list
}

// Tombstone refreshes, and returns the tombstone of an action, or
// cache.ErrNotFound.
func (ix *Index) Tombstone(id digest.ActionID) (cache.Tombstone, error) {
	if err := ix.Refresh(); err != nil {
		return cache.Tombstone{}, err
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	t, ok := ix.tombs[id]
	if !ok {
		return t, fmt.Errorf("find tombstone of action %s: %w", id.Short(), cache.ErrNotFound)
	}
	return t, nil
}

// Stats are the figures of an index.
type Stats struct {
	Records, Tombstones int
	// Bytes is the size of the log.
	Bytes int64
	// OldestUse is the last use of the least recently used record, in Unix
	// milliseconds; 0 if there are no records.
	OldestUse int64
}

// Stats refreshes, and returns the figures of the index.
func (ix *Index) Stats() (Stats, error) {
	if err := ix.Refresh(); err != nil {
		return Stats{}, err
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	s := Stats{Records: len(ix.entries), Tombstones: len(ix.tombs), Bytes: int64(len(ix.log.bytes()))}
	for _, e := range ix.entries {
		if s.OldestUse == 0 || e.Used < s.OldestUse {
			s.OldestUse = e.Used
		}
	}
	return s, nil
}

// Encode returns the line of a record that was last used at a time in Unix
// milliseconds. It refuses a record that is too large.
func Encode(rec *cache.Record, used int64) ([]byte, error) {
	payload, err := encodeRecord(nil, rec)
	if err != nil {
		return nil, err
	}
	return frame{kind: frameRecord, id: rec.Action, address: addressHash(rec.Address), millis: used, payload: payload}.append(nil), nil
}

// Add appends a line that Encode returned.
func (ix *Index) Add(line []byte) error {
	return ix.locked(func() error { return ix.append(line) })
}

// Restore appends a line that Encode returned, unless there is a record of its
// action again.
func (ix *Index) Restore(id digest.ActionID, line []byte) error {
	return ix.locked(func() error {
		if rec, _, err := ix.Get(id); rec != nil || err != nil {
			return err
		}
		return ix.append(line)
	})
}

// Drop drops the records that are still at the given offsets of the log, and
// returns their actions, sorted.
func (ix *Index) Drop(chosen map[digest.ActionID]int64, reason string) ([]digest.ActionID, error) {
	var dropped []digest.ActionID
	err := ix.locked(func() error {
		dropped = ix.unchanged(chosen)
		var lines []byte
		for _, id := range dropped {
			lines = frame{kind: frameDrop, id: id, millis: ix.Now().UnixMilli(), payload: []byte(reason)}.append(lines)
		}
		if len(lines) == 0 {
			return nil
		}
		return ix.append(lines)
	})
	return dropped, err
}

// unchanged returns the actions whose record is still at its offset of the log.
func (ix *Index) unchanged(chosen map[digest.ActionID]int64) []digest.ActionID {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var same []digest.ActionID
	for _, id := range slices.SortedFunc(maps.Keys(chosen), func(a, b digest.ActionID) int { return bytes.Compare(a[:], b[:]) }) {
		if e, ok := ix.entries[id]; ok && e.At == chosen[id] {
			same = append(same, id)
		}
	}
	return same
}

// Use records that the actions that pick chooses by their last use were used now,
// a time in Unix milliseconds.
func (ix *Index) Use(now int64, pick func(id digest.ActionID, used int64) bool) error {
	var used []byte
	ix.mu.RLock()
	for id, e := range ix.entries { // the order of digests in a use does not matter
		if pick(id, e.Used) {
			used = append(used, id[:]...)
		}
	}
	ix.mu.RUnlock()
	if len(used) == 0 {
		return nil
	}
	return ix.Add(frame{kind: frameUses, millis: now, payload: used}.append(nil))
}
