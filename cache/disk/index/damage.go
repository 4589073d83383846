package index

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/nolink"
)

// ErrDamaged means that the log lost records, or may have. Nothing is written to it until
// Rebuild.
var ErrDamaged = errors.New("the index of the cache is damaged")

// twin is the copy of the log, which has the same bytes as far as it reaches. The log is
// written first, so a copy that has more records is a sign of damage.
type twin struct {
	*logView
	// compared means that the rest is known.
	compared bool
	// stale means that the log does not begin with the copy, and has all of its records: the
	// copy has to be written again. If nothing in it is damaged, it is sound, so the log was
	// only compacted. lacks is the number of records that the log does not have.
	stale, sound bool
	lacks        int
}

// compare compares the log with the copy, which was opened before it, once: when a record is
// missing, or before anything is written or removed. To find records does not need it. It
// needs mu.
func (ix *Index) compare() {
	if !ix.copy.compared {
		ix.copy.compared = true
		ix.copy.stale = !unfaulted(ix.compareAll) || ix.copy.stale
	}
}

func (ix *Index) compareAll() {
	if bytes.HasPrefix(ix.log.bytes(), ix.copy.bytes()) {
		return
	}
	copied := summaryOf(ix.copy.bytes())
	for id := range copied.entries {
		_, there := ix.entries[id]
		if _, dropped := ix.tombs[id]; !there && !dropped {
			ix.copy.lacks++
		}
	}
	ix.copy.stale = ix.copy.lacks == 0
	ix.copy.sound = ix.copy.stale && copied.valid(ix.copy.bytes()) == ix.copy.size
}

// mirror brings the copy up to the log, which is whole, and remembers the log's size. It
// needs the lock, by locked, and mu. A copy that cannot be written costs nothing now: the
// next mirror writes what it lacks.
func (ix *Index) mirror() {
	data := ix.log.bytes()
	ix.Size.Store(int64(len(data)))
	switch {
	case len(data) == 0:
	case ix.copy.logView == nil || ix.copy.stale:
		// The first one protects nothing yet that a power failure could take.
		if nolink.WriteFile(ix.Copy, data, 0o644, ix.copy.logView != nil) == nil {
			_ = ix.reload()
		}
	case ix.copy.grow() == nil && ix.copy.size < int64(len(data)):
		_, _ = ix.Write(ix.copy.file, data[ix.copy.size:])
	}
}

// Damage reports whether the log lost records, or may have. The error wraps ErrDamaged
// and says what to do.
func (ix *Index) Damage() error {
	err := ix.update()
	stale := false
	if err == nil {
		stale, err = ix.look()
	}
	if ix.Hold == nil || err == nil && !stale {
		return err
	}
	// Or the log changed between one look and the next.
	return ix.Hold(func() error { return cmp.Or(ix.updateBoth(), ix.Look()) })
}

// Look is Damage as far as it is known without a system call.
func (ix *Index) Look() error {
	_, err := ix.look()
	return err
}

// look is Look, and reports whether the copy has to be written again.
func (ix *Index) look() (stale bool, err error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	what := ix.damage()
	return ix.copy.stale, damaged(what)
}

// damaged returns an error that wraps ErrDamaged, or nil if nothing is wrong.
func damaged(what string) error {
	if what == "" {
		return nil
	}
	return fmt.Errorf("%w: %s. Results that are not found would be made again, so nothing is run and nothing is removed: run 'mleflow cache repair'",
		ErrDamaged, what)
}

// damage says what is wrong with the log, or "". It needs mu.
func (ix *Index) damage() string {
	ix.compare()
	const begun = int64(len(logHeader))
	size, was := int64(len(ix.log.bytes())), ix.Size.Load()
	written := was > begun || was == 0 && ix.Changes.Load() > 0 || ix.copy.lacks > 0
	_, bad := ix.gaps()
	what := ""
	switch {
	case ix.odd != nil:
		return ix.odd.Error()
	case ix.log != nil && size < begun, written && size <= begun:
		what = "is missing or empty"
	case ix.Lost.Load() != 0:
		what = "was started by an earlier version of mleflow in place of a lost one"
	case bad > 0:
		what = fmt.Sprintf("has %d bytes that are not a record", bad)
	case ix.copy.lacks > 0:
		what = fmt.Sprintf("lacks %d records that its copy %s has", ix.copy.lacks, ix.Copy)
	case size < was && !ix.copy.sound && ix.Hold != nil: // who only reads may see the size first
		what = fmt.Sprintf("has %d bytes and had %d", size, was)
	default:
		return ""
	}
	return ix.Path + " " + what
}

// Rebuilt is the result of Rebuild.
type Rebuilt struct {
	// Damage is what was wrong; if it is "", nothing was done.
	Damage string `json:"damage"`
	// Records are in the index now; Again of them were only in the copy.
	Records int `json:"records"`
	Again   int `json:"again"`
	// Dropped are the addresses of the records whose content is missing.
	Dropped []string `json:"dropped"`
	// LostBytes is the size of what may have been records that are lost; -1 if nobody can say.
	LostBytes int64 `json:"lost_bytes"`
	// Aside are the files with what was there before.
	Aside []string `json:"aside"`
}

// Lost reports whether a result has to be made again.
func (r *Rebuilt) Lost() bool { return len(r.Dropped) > 0 || r.LostBytes != 0 }

// Rebuild writes a damaged log again from what is left of it and of its copy, and keeps
// what was there in files beside them. keep reports whether the content of a record is
// there. Killed at any moment, it can be called again.
//
// With onlyEnd, it does nothing if more than the end of both may be lost.
func (ix *Index) Rebuild(keep func(*cache.Record) bool, onlyEnd bool) (r Rebuilt, err error) {
	r.Dropped, r.Aside = []string{}, []string{}
	err = ix.Hold(func() error {
		ix.mu.Lock()
		defer ix.mu.Unlock()
		if err := ix.reload(); err != nil {
			return err
		}
		r.Damage, r.Records = ix.damage(), len(ix.entries)
		copied := summaryOf(ix.copy.bytes())
		if r.Damage == "" || onlyEnd && (ix.Lost.Load() != 0 || !ix.begun() && !copied.begun()) {
			return nil
		}
		merged := merge(ix.copy.bytes(), ix.log.bytes())
		all := summaryOf(merged)
		was := cmp.Or(ix.Size.Load(), int64(len(ix.log.bytes())))
		if r.LostBytes = max(0, was-max(ix.valid(ix.log.bytes()), copied.valid(ix.copy.bytes()))); ix.Lost.Load() != 0 || was <= int64(len(logHeader)) {
			r.LostBytes = -1
		}
		r.Again = max(0, len(all.entries)-r.Records)
		for _, p := range all.placed() {
			rec, err := decodeRecord(p.ID, merged[p.At+framePayloadAt:p.At+int64(p.n)-1])
			if err != nil {
				rec = &cache.Record{Address: "action " + p.ID.Short()}
			} else if keep(rec) {
				continue
			}
			r.Dropped = append(r.Dropped, rec.Address)
			all.apply(frame{kind: frameDrop, id: p.ID, millis: ix.Now().UnixMilli(), payload: []byte("corrupt")}, 0, 0)
		}
		r.Records = len(all.entries)
		return ix.install(all.compacted(merged), &r)
	})
	return r, err
}

// install replaces the copy and then the log. It needs the lock and mu.
func (ix *Index) install(data []byte, r *Rebuilt) error {
	for _, path := range []string{ix.Copy, ix.Path} {
		_ = nolink.Mkdir(filepath.Dir(path), 0o777) // it may be lost, too; the write says why it cannot be made
		aside := fmt.Sprintf("%s.damaged-%d", path, ix.Now().UnixNano())
		if os.Link(path, aside) == nil || os.Rename(path, aside) == nil { // a folder has no second name
			r.Aside = append(r.Aside, aside)
		}
		ix.At("aside")
		if err := nolink.WriteFile(path, data, 0o644, true); err != nil {
			return err
		}
		ix.At("rebuilt")
	}
	ix.Size.Store(int64(len(data)))
	ix.Lost.Store(0)
	ix.Changes.Add(1)
	return ix.catchUp()
}

// merge returns a log with the frames of both: a later frame of an action replaces an
// earlier one, whichever file it is from. The time of a frame is at least that of those
// before it in its file, whatever the clock said.
func merge(copied, log []byte) []byte {
	type timed struct {
		millis int64
		line   []byte
	}
	var all []timed
	for _, data := range [][]byte{copied, log} {
		latest := int64(math.MinInt64)
		scanFrames(data, 0, func(f frame, at, n int) {
			latest = max(latest, f.millis)
			all = append(all, timed{latest, data[at : at+n]})
		})
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(a.millis, b.millis) })
	merged := []byte(logHeader)
	for _, t := range all {
		merged = append(merged, t.line...)
	}
	return merged
}
