package index

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

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

// TestLostAndDamaged loses the log once, and flips a bit of a record.
func TestLostAndDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	ix := openTest(t, path)
	add(t, ix, "a", 1)
	must(t, os.Remove(path))
	ix.Changes.Add(1)
	if lost, err := ix.WasLost(); !lost || err != nil {
		t.Fatalf("lost: %v, %v", lost, err)
	}
	must(t, ix.Restart())
	if lost, err := ix.WasLost(); lost || err != nil {
		t.Fatalf("lost after Restart: %v, %v", lost, err)
	}
	add(t, ix, "b", 1)
	add(t, ix, "c", 1)
	data, err := os.ReadFile(path)
	must(t, err)
	data[len(logHeader)+framePayloadAt] ^= 1
	must(t, os.WriteFile(path, data, 0o644))
	again := openTest(t, path)
	if unfinished, bad, err := again.Repair(); unfinished != 0 || bad == 0 || err != nil {
		t.Errorf("%d unfinished and %d damaged bytes, %v", unfinished, bad, err)
	}
	if unfinished, bad, err := again.Repair(); unfinished+bad != 0 || err != nil {
		t.Errorf("after the repair: %d unfinished and %d damaged bytes, %v", unfinished, bad, err)
	}
}
