package index

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

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
	data := ix.compacted()
	ix.mu.RUnlock()
	ix.At("compact")
	if err := ix.replace(data); err != nil {
		return err
	}
	ix.At("compacted")
	// Only now: a process that sees the counter change looks for the new file.
	ix.Changes.Add(1)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.catchUp()
}

// compacted returns a log of the frames that still matter: the records in their
// order, the latest tombstones, and the last uses. It needs mu for reading.
func (ix *Index) compacted() []byte {
	buf := make([]byte, 0, ix.live+1<<16)
	buf = append(buf, logHeader...)
	log := ix.log.bytes()
	uses := make(map[int64][]digest.ActionID)
	for _, p := range ix.placed() {
		line := log[p.At : p.At+int64(p.n)]
		buf = append(buf, line...)
		if f, n := parseFrame(line); n > 0 && f.millis != p.Used {
			uses[p.Used] = append(uses[p.Used], p.ID)
		}
	}
	for _, t := range ix.latestTombs() {
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
func (ix *Index) latestTombs() []cache.Tombstone {
	list := slices.SortedFunc(maps.Values(ix.tombs), func(a, b cache.Tombstone) int {
		return cmp.Or(cmp.Compare(a.EvictedUnixMilli, b.EvictedUnixMilli), bytes.Compare(a.Action[:], b.Action[:]))
	})
	return list[max(0, len(list)-maxTombs):]
}
