package index

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"runtime/debug"
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
	rec, err := (*cache.Record)(nil), ErrPayload
	unfaulted(func() { rec, err = decodeRecord(id, ix.log.bytes()[e.At+framePayloadAt:e.At+int64(e.n)-1]) })
	if err != nil {
		return nil, Entry{}, err
	}
	return rec, e, nil
}

// unfaulted calls a function that reads the mapped files, and reports whether they were
// there: if another program cut one off since, the process would be killed.
func unfaulted(read func()) (there bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			there = false
		default:
			panic(p)
		}
	}()
	read()
	return true
}

// Snapshot refreshes, and returns all entries in the order in which they were
// recorded.
func (ix *Index) Snapshot() (list []Placed, err error) {
	err = ix.fresh(func() { list = ix.placed() })
	return list, err
}

// placed returns all entries in the order in which they were recorded. It needs mu
// for reading.
func (s *summary) placed() []Placed {
	list := make([]Placed, 0, len(s.entries))
	for id, e := range s.entries {
		list = append(list, Placed{id, e})
	}
	slices.SortFunc(list, func(a, b Placed) int { return cmp.Compare(a.At, b.At) })
	return list
}

// Tombstone refreshes, and returns the tombstone of an action, or
// cache.ErrNotFound.
func (ix *Index) Tombstone(id digest.ActionID) (cache.Tombstone, error) {
	var t cache.Tombstone
	var ok bool
	err := ix.fresh(func() { t, ok = ix.tombs[id] })
	if err == nil && !ok {
		err = fmt.Errorf("find tombstone of action %s: %w", id.Short(), cache.ErrNotFound)
	}
	return t, err
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
func (ix *Index) Stats() (s Stats, err error) {
	err = ix.fresh(func() {
		s = Stats{Records: len(ix.entries), Tombstones: len(ix.tombs), Bytes: int64(len(ix.log.bytes()))}
		for _, e := range ix.entries {
			if s.OldestUse == 0 || e.Used < s.OldestUse {
				s.OldestUse = e.Used
			}
		}
	})
	return s, err
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

const (
	// compactFrom is the smallest index worth compacting. A smaller one is read in
	// milliseconds, and rewriting it would block all other writers.
	compactFrom = 1 << 20
	// maxTombs is the number of tombstones that survive a compaction, newest first. A
	// tombstone only explains a miss, so the index must not grow with their number as
	// the cache gets older.
	maxTombs = 200_000
)

// Compact rewrites the log once at least half of it is obsolete. Other
// processes notice the new file by the shared state.
func (ix *Index) Compact() error {
	return ix.locked(func() error {
		ix.mu.RLock()
		size := int64(len(ix.log.bytes()))
		worth := size >= compactFrom && ix.live < size/2
		ix.mu.RUnlock()
		if !worth {
			return nil
		}
		return ix.rewrite()
	})
}

// Rewrite writes the log without the frames that no longer matter.
func (ix *Index) Rewrite() error { return ix.locked(ix.rewrite) }

// rewrite replaces the log. It needs the lock, by locked.
func (ix *Index) rewrite() error {
	ix.mu.RLock()
	data := ix.compacted(ix.log.bytes())
	ix.mu.RUnlock()
	if data == nil {
		return damaged(ix.Path + " was written to by another program")
	}
	ix.At("compact")
	ix.Size.Store(int64(len(data))) // before the log is shorter
	if err := ix.replace(data); err != nil {
		return err
	}
	ix.At("compacted")
	// Only now: a process that sees the counter change looks for the new file.
	ix.Changes.Add(1)
	return ix.updateBoth() // which finds that the copy is of the log before
}

// compacted returns a log of the frames that still matter: the records in their
// order, the latest tombstones, and the last uses; nil if a frame is not what it was.
func (s *summary) compacted(log []byte) []byte {
	buf := make([]byte, 0, s.live+1<<16)
	buf = append(buf, logHeader...)
	uses := make(map[int64][]digest.ActionID)
	for _, p := range s.placed() {
		line := log[p.At : p.At+int64(p.n)]
		f, n := parseFrame(line)
		if n == 0 {
			return nil
		}
		if buf = append(buf, line...); f.millis != p.Used {
			uses[p.Used] = append(uses[p.Used], p.ID)
		}
	}
	for _, t := range s.latestTombs() {
		buf = frame{kind: frameDrop, id: t.Action, millis: t.EvictedUnixMilli, payload: []byte(t.Reason)}.append(buf)
	}
	for _, millis := range slices.Sorted(maps.Keys(uses)) {
		var ids []byte
		for _, id := range uses[millis] {
			ids = append(ids, id[:]...)
		}
		buf = frame{kind: frameUses, millis: millis, payload: ids}.append(buf)
	}
	return buf
}

// latestTombs returns the newest tombstones, oldest first.
func (s *summary) latestTombs() []cache.Tombstone {
	list := slices.SortedFunc(maps.Values(s.tombs), func(a, b cache.Tombstone) int {
		return cmp.Or(cmp.Compare(a.EvictedUnixMilli, b.EvictedUnixMilli), bytes.Compare(a.Action[:], b.Action[:]))
	})
	return list[max(0, len(list)-maxTombs):]
}

// Tidy rewrites the log if it has beginnings of frames whose writers were killed or found
// the disk full, unless it is only read, and returns the number of their bytes.
func (ix *Index) Tidy() (unfinished int, err error) {
	err = ix.fresh(func() { unfinished, _ = ix.gaps() })
	if err == nil && unfinished > 0 && ix.Hold != nil {
		err = ix.Rewrite()
	}
	return unfinished, err
}
