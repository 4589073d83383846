package index

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

func add(t *testing.T, ix *Index, name string, used int64) {
	t.Helper()
	line, err := Encode(recordOf(name), used)
	must(t, err)
	must(t, ix.Add(line))
}

// TestIndex follows records from Add to Drop, Restore and Rewrite, and what a
// second opening sees of them.
func TestIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	ix := openTest(t, path)
	for i, name := range []string{"a", "b", "c", "a"} {
		add(t, ix, name, int64(1000+i))
	}
	list, err := ix.Snapshot()
	must(t, err)
	if len(list) != 3 || list[0].ID != actionOf("b") || list[2].ID != actionOf("a") || list[2].Used != 1003 {
		t.Fatalf("snapshot %+v", list)
	}
	dropped, err := ix.Drop(map[digest.ActionID]int64{actionOf("b"): list[0].At, actionOf("a"): list[0].At}, "quota")
	must(t, err)
	if !slices.Equal(dropped, []digest.ActionID{actionOf("b")}) {
		t.Errorf("dropped %v: a record that moved must stay", dropped)
	}
	must(t, ix.Use(2000, func(id digest.ActionID, used int64) bool { return used == 1002 }))
	for range 2 { // the second time, the record is there
		line, err := Encode(recordOf("d"), 3000)
		must(t, err)
		must(t, ix.Restore(actionOf("d"), line))
	}
	must(t, ix.Rewrite())
	for _, ix := range []*Index{ix, openTest(t, path)} {
		tomb, err := ix.Tombstone(actionOf("b"))
		if want := (cache.Tombstone{Action: actionOf("b"), EvictedUnixMilli: 5000, Reason: "quota"}); err != nil || tomb != want {
			t.Errorf("tombstone %+v, %v", tomb, err)
		}
		if _, e, err := ix.Get(actionOf("c")); err != nil || e.Used != 2000 {
			t.Errorf("entry %+v, %v", e, err)
		}
		info, err := os.Stat(path)
		must(t, err)
		if s, err := ix.Stats(); err != nil || s != (Stats{Records: 3, Tombstones: 1, Bytes: info.Size(), OldestUse: 1003}) {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

// TestTidy removes what killed writers left.
func TestTidy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	ix := openTest(t, path)
	add(t, ix, "a", 1)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString("r 00")
	must(t, errors.Join(err, f.Close()))
	add(t, ix, "b", 1)
	for _, want := range []int{5, 0} {
		if unfinished, err := ix.Tidy(); unfinished != want || err != nil {
			t.Errorf("%d unfinished bytes, %v; want %d", unfinished, err, want)
		}
	}
	must(t, ix.Damage())
}

// always keeps every record.
func always(*cache.Record) bool { return true }

// damagedLog is an index of the records 0 to 9, its log damaged by damage.
type damagedLog struct {
	path, copied string
	size         atomic.Int64
	line         int // the length of a frame
}

func newDamagedLog(t *testing.T, damage func(*damagedLog)) *damagedLog {
	d := &damagedLog{path: filepath.Join(t.TempDir(), "log"), copied: filepath.Join(t.TempDir(), "log")}
	ix := openWith(t, d.path, d.copied, &d.size)
	for i := range 10 {
		add(t, ix, fmt.Sprint(i), int64(i))
	}
	d.line = (int(d.size.Load()) - len(logHeader)) / 10
	must(t, ix.Close())
	damage(d)
	return d
}

// edit changes the bytes of a file in place.
func edit(path string, change func([]byte) []byte) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(data), 0o644)
	}
	if err != nil {
		panic(err)
	}
}

func same(t *testing.T, a, b string) {
	t.Helper()
	x, errX := os.ReadFile(a)
	y, errY := os.ReadFile(b)
	if !bytes.Equal(x, y) || errX != nil || errY != nil {
		t.Errorf("%s and %s differ, %v, %v", a, b, errX, errY)
	}
}

func zeros(from, to int) func([]byte) []byte {
	return func(b []byte) []byte { clear(b[from:to]); return b }
}

func cut(to int) func([]byte) []byte { return func(b []byte) []byte { return b[:to] } }

// TestDamage damages the log, the copy and both. A damaged log is opened, says so, and
// takes nothing until it is rebuilt; a damaged copy is written again.
func TestDamage(t *testing.T) {
	h := len(logHeader)
	tests := map[string]struct {
		damage func(*damagedLog)
		// left is how many records the damaged log has, lost how many nothing has.
		left, lost int
		unsure     int  // of how many it cannot be said that they are not lost
		whole      bool // the log needs no repair
		unknown    bool
	}{
		"log missing":             {damage: func(d *damagedLog) { _ = os.Remove(d.path) }},
		"log emptied":             {damage: func(d *damagedLog) { edit(d.path, cut(0)) }},
		"log cut to its header":   {damage: func(d *damagedLog) { edit(d.path, cut(h)) }},
		"log cut in its header":   {damage: func(d *damagedLog) { edit(d.path, cut(5)) }},
		"first 64 bytes zero":     {damage: func(d *damagedLog) { edit(d.path, zeros(0, 64)) }, left: 9},
		"header zero":             {damage: func(d *damagedLog) { edit(d.path, zeros(0, h)) }, left: 10},
		"a page zero":             {damage: func(d *damagedLog) { edit(d.path, zeros(h+3*d.line+5, h+7*d.line)) }, left: 6},
		"zeros at the end":        {damage: func(d *damagedLog) { edit(d.path, zeros(h+8*d.line, h+10*d.line)) }, left: 8},
		"all zero":                {damage: func(d *damagedLog) { edit(d.path, zeros(0, h+10*d.line)) }},
		"cut between records":     {damage: func(d *damagedLog) { edit(d.path, cut(h+4*d.line)) }, left: 4},
		"cut in a record":         {damage: func(d *damagedLog) { edit(d.path, cut(h+4*d.line+7)) }, left: 4},
		"garbage":                 {damage: func(d *damagedLog) { edit(d.path, func([]byte) []byte { return []byte("nothing of ours\n") }) }},
		"a folder":                {damage: func(d *damagedLog) { _ = os.Remove(d.path); _ = os.Mkdir(d.path, 0o755) }},
		"a link":                  {damage: func(d *damagedLog) { _ = os.Rename(d.path, d.path+"2"); _ = os.Symlink(d.path+"2", d.path) }},
		"copy missing":            {damage: func(d *damagedLog) { _ = os.Remove(d.copied) }, left: 10, whole: true},
		"copy emptied":            {damage: func(d *damagedLog) { edit(d.copied, cut(0)) }, left: 10, whole: true},
		"copy behind":             {damage: func(d *damagedLog) { edit(d.copied, cut(h+4*d.line+7)) }, left: 10, whole: true},
		"copy's first bytes zero": {damage: func(d *damagedLog) { edit(d.copied, zeros(0, 64)) }, left: 10, whole: true},
		"copy a folder":           {damage: func(d *damagedLog) { _ = os.Remove(d.copied); _ = os.Mkdir(d.copied, 0o755) }, left: 10},
		"copy garbage":            {damage: func(d *damagedLog) { edit(d.copied, func([]byte) []byte { return []byte("x") }) }, left: 10, whole: true},
		"both damaged apart": {damage: func(d *damagedLog) {
			edit(d.path, zeros(h+2*d.line, h+4*d.line))
			edit(d.copied, zeros(h+5*d.line, h+6*d.line))
		}, left: 8, unsure: 1},
		"both damaged alike": {damage: func(d *damagedLog) {
			edit(d.path, zeros(h+2*d.line, h+4*d.line))
			edit(d.copied, zeros(h+3*d.line, h+6*d.line))
		}, left: 8, lost: 1},
		"both cut": {damage: func(d *damagedLog) { edit(d.path, cut(h+d.line)); edit(d.copied, cut(h+3*d.line)) }, left: 1, lost: 7},
		"log cut, copy zero": {damage: func(d *damagedLog) {
			edit(d.path, cut(h+4*d.line))
			edit(d.copied, zeros(h+4*d.line, h+10*d.line))
		}, left: 4, lost: 6},
		"both missing": {damage: func(d *damagedLog) { _ = os.Remove(d.path); _ = os.Remove(d.copied) }, lost: 10},
		"all of them missing but objects": {damage: func(d *damagedLog) {
			edit(d.path, cut(0))
			_ = os.Remove(d.copied)
			d.size.Store(0)
		}, lost: 10, unknown: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDamagedLog(t, tt.damage)
			ix := openWith(t, d.path, d.copied, &d.size)
			if err := ix.Damage(); errors.Is(err, ErrDamaged) == tt.whole {
				t.Fatalf("damage: %v", err)
			} else if !tt.whole && !strings.Contains(err.Error(), "'mleflow cache repair'") {
				t.Errorf("no remedy in %q", err)
			}
			if s, err := ix.Stats(); s.Records != tt.left || err != nil {
				t.Errorf("%d records can be read, %v; want %d", s.Records, err, tt.left)
			}
			line, err := Encode(recordOf("new"), 99)
			must(t, err)
			if err := ix.Add(line); errors.Is(err, ErrDamaged) == tt.whole {
				t.Errorf("add: %v", err)
			}
			r, err := ix.Rebuild(always, false)
			must(t, err)
			if (r.Damage == "") != tt.whole || (r.LostBytes < 0) != tt.unknown {
				t.Errorf("%+v", r)
			}
			if !tt.unknown && (r.LostBytes < int64(tt.lost*d.line) || tt.lost == 0 && r.LostBytes > int64(tt.unsure*d.line)) {
				t.Errorf("%d bytes lost, want those of %d records", r.LostBytes, tt.lost)
			}
			want := 10 - tt.lost
			if tt.whole {
				want++ // the new one
			} else if r.Records != want || r.Again != want-tt.left {
				t.Errorf("%d records, %d again; want %d, %d", r.Records, r.Again, want, want-tt.left)
			}
			if !tt.whole && len(r.Aside) == 0 && name != "both missing" {
				t.Error("nothing was set aside")
			}
			add(t, ix, "after", 100)
			for _, ix := range []*Index{ix, openWith(t, d.path, d.copied, &d.size)} {
				if s, err := ix.Stats(); err != nil || s.Records != want+1 {
					t.Errorf("%d records afterwards, %v; want %d", s.Records, err, want+1)
				}
				must(t, ix.Damage())
				same(t, d.path, d.copied)
			}
		})
	}
}

// TestPowerFailure loses what was written after the last sync, which is repaired when the
// cache is opened after a restart. A greater loss waits for a person.
func TestPowerFailure(t *testing.T) {
	h := len(logHeader)
	both := func(change func(d *damagedLog) func([]byte) []byte) func(*damagedLog) {
		return func(d *damagedLog) { edit(d.path, change(d)); edit(d.copied, change(d)) }
	}
	tests := map[string]struct {
		damage func(*damagedLog)
		want   int // records; -1 if it waits
	}{
		"the end is zero":       {both(func(d *damagedLog) func([]byte) []byte { return zeros(h+6*d.line, h+10*d.line) }), 6},
		"the end is gone":       {both(func(d *damagedLog) func([]byte) []byte { return cut(h + 6*d.line + 3) }), 6},
		"in the middle of sync": {both(func(d *damagedLog) func([]byte) []byte { return zeros(h+6*d.line, h+8*d.line) }), -1},
		"in the middle of one":  {func(d *damagedLog) { edit(d.path, zeros(h+6*d.line, h+8*d.line)) }, 10},
		"one is gone":           {func(d *damagedLog) { edit(d.path, cut(0)) }, 10},
		"all that was synced":   {both(func(d *damagedLog) func([]byte) []byte { return zeros(h+2*d.line, h+3*d.line) }), -1},
		"the header":            {both(func(d *damagedLog) func([]byte) []byte { return zeros(0, h+10*d.line) }), -1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDamagedLog(t, tt.damage)
			ix := openWith(t, d.path, d.copied, &d.size)
			r, err := ix.Rebuild(always, true)
			must(t, err)
			if r.Damage == "" || (len(r.Aside) > 0) != (tt.want >= 0) {
				t.Errorf("%+v", r)
			}
			if err := ix.Damage(); errors.Is(err, ErrDamaged) != (tt.want < 0) {
				t.Errorf("damage: %v", err)
			}
			if s, err := ix.Stats(); err != nil || tt.want >= 0 && s.Records != tt.want {
				t.Errorf("%d records, %v; want %d", s.Records, err, tt.want)
			}
		})
	}
}

// TestOlderVersions: they write no copy, and compact the log without it.
func TestOlderVersions(t *testing.T) {
	d := newDamagedLog(t, func(*damagedLog) {})
	old := openTest(t, d.path)
	list, err := old.Snapshot()
	must(t, err)
	_, err = old.Drop(map[digest.ActionID]int64{list[3].ID: list[3].At, list[4].ID: list[4].At}, "gc")
	must(t, err)
	must(t, old.Rewrite())
	add(t, old, "old", 50)
	ix := openWith(t, d.path, d.copied, &d.size)
	must(t, ix.Damage())
	same(t, d.path, d.copied)
	add(t, ix, "new", 51)
	if s, err := ix.Stats(); err != nil || s.Records != 10 || s.Tombstones != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestOlderLogRestored puts a log from a backup in the place of the log.
func TestOlderLogRestored(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		var backup []byte
		d := newDamagedLog(t, func(d *damagedLog) {
			backup, _ = os.ReadFile(d.path)
			ix := openWith(t, d.path, d.copied, &d.size)
			add(t, ix, "3", 60) // again
			list, err := ix.Snapshot()
			must(t, err)
			_, err = ix.Drop(map[digest.ActionID]int64{list[0].ID: list[0].At}, "gc")
			must(t, err)
			add(t, ix, "late", 6000)
			if compacted {
				must(t, ix.Rewrite())
			}
			must(t, os.WriteFile(d.path+"2", backup, 0o644))
			must(t, os.Rename(d.path+"2", d.path))
			if err := ix.Damage(); !errors.Is(err, ErrDamaged) { // the open one sees it, too
				t.Errorf("damage: %v", err)
			}
		})
		ix := openWith(t, d.path, d.copied, &d.size)
		if err := ix.Damage(); !errors.Is(err, ErrDamaged) {
			t.Errorf("damage: %v", err)
		}
		r, err := ix.Rebuild(always, false)
		must(t, err)
		_, e, err := ix.Get(actionOf("3"))
		if r.LostBytes != 0 || r.Records != 10 || err != nil || e.Used != 60 {
			t.Errorf("compacted %v: %+v; entry %+v, %v", compacted, r, e, err)
		}
		if tomb, err := ix.Tombstone(actionOf("0")); err != nil || tomb.Reason != "gc" {
			t.Errorf("tombstone %+v, %v", tomb, err)
		}
	}
}

// TestRebuildDrops drops the records whose content is missing, and is killed in between.
func TestRebuildDrops(t *testing.T) {
	for _, point := range []string{"", "1", "2", "3", "4"} {
		d := newDamagedLog(t, func(d *damagedLog) { edit(d.path, zeros(0, 64)) })
		keep := func(rec *cache.Record) bool { return rec.Address != "step.test.4" }
		ix := openWith(t, d.path, d.copied, &d.size)
		if point != "" {
			ix.Now = func() time.Time { return time.UnixMilli(4000) }
			passed := 0
			ix.At = func(string) {
				if passed++; fmt.Sprint(passed) == point {
					panic("killed")
				}
			}
			func() {
				defer func() { _ = recover() }()
				_, _ = ix.Rebuild(keep, false)
			}()
		}
		ix = openWith(t, d.path, d.copied, &d.size)
		_, err := ix.Rebuild(keep, false)
		must(t, err)
		must(t, ix.Damage())
		if s, err := ix.Stats(); err != nil || s.Records != 9 || s.Tombstones != 1 {
			t.Errorf("killed at %q: %+v, %v", point, s, err)
		}
	}
}

// TestComparedLate: the copy is compared when somebody asks, and even then another program
// may have cut it off.
func TestComparedLate(t *testing.T) {
	d := newDamagedLog(t, func(d *damagedLog) {
		edit(d.path, func(b []byte) []byte { // the first record again in the place of the last
			first := b[len(logHeader) : len(logHeader)+d.line]
			return append(b[:len(b)-d.line:len(b)-d.line], first...)
		})
	})
	ix := openWith(t, d.path, d.copied, &d.size)
	if rec, _, err := ix.Get(actionOf("0")); rec == nil || err != nil {
		t.Errorf("%v, %v", rec, err)
	}
	if err := ix.Look(); !errors.Is(err, ErrDamaged) {
		t.Errorf("a record is only in the copy, of the same size: %v", err)
	}

	d = newDamagedLog(t, func(d *damagedLog) {})
	ix = openWith(t, d.path, d.copied, &d.size)
	must(t, os.Truncate(d.copied, 0))
	must(t, ix.Look())
	must(t, ix.Damage())
	same(t, d.path, d.copied)
}
