package disk

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

func TestListAndInfo(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	c := openTest(t, dir, Options{Quota: 1 << 20}, clk.hooks())
	tree := putTree(t, c, "x", 10)
	record(t, c, "b", tree)
	record(t, c, "a", putText(t, c, "text"), tree)
	must(t, c.Pin(t.Context(), Pin{Name: "run 7", Actions: []digest.ActionID{actionOf("a")}}))
	wantErr(t, c.Pin(t.Context(), Pin{Name: "x", Actions: []digest.ActionID{actionOf("missing")}}), cache.ErrNotFound)
	wantErr(t, c.Pin(t.Context(), Pin{Name: "x", Refs: []cache.Ref{{ID: digest.Of([]byte("missing"))}}}), cache.ErrNotFound)
	list, err := c.List(t.Context())
	must(t, err)
	now := clk.now().UnixMilli()
	want := []Item{
		{Action: actionOf("a"), Address: "step.test.a", Kind: "test", Run: "r", Size: tree.Size + 4, Files: 11, UsedUnixMilli: now, Pins: []string{"run 7"}},
		{Action: actionOf("b"), Address: "step.test.b", Kind: "test", Run: "r", Size: tree.Size, Files: 10, UsedUnixMilli: now},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	info, err := c.Info(t.Context())
	must(t, err)
	n, err := c.objects.count(func(file, facts) {})
	must(t, err)
	wantInfo := Info{
		Dir: dir, Format: "mleflow cache 1", Objects: 15, Bytes: n.bytes, Quota: 1 << 20, Records: 2, Pins: 1, Processes: 1,
		DiskFree: info.DiskFree, IndexBytes: info.IndexBytes, OldestUseUnixMilli: now,
	}
	if diff := cmp.Diff(wantInfo, info); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
}

func TestLatest(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	c := openTest(t, dir, Options{}, clk.hooks())
	_, err := newest(c, "step.a.b")
	wantErr(t, err, cache.ErrNotFound)
	for i := range 3 {
		rec := recordOf(fmt.Sprint(i))
		rec.Address = "step.a.b"
		must(t, c.Record(t.Context(), rec))
		for _, reader := range []*Cache{c, openTest(t, dir, Options{}, clk.hooks())} {
			got, err := newest(reader, "step.a.b")
			must(t, err)
			if got.Action != rec.Action {
				t.Errorf("latest is not record %d", i)
			}
		}
	}
}

func TestCleaning(t *testing.T) {
	dir := t.TempDir()
	c := openTest(t, dir, Options{}, hooks{unnamed: true})
	mine, err := c.TempDir(`step.a.b["x/../y"]`)
	must(t, err)
	// A process that died: nobody holds its lease.
	must(t, os.WriteFile(c.path(leasesName, "DEAD"), make([]byte, leaseSize), 0o644))
	must(t, os.MkdirAll(c.path(tmpName, "DEAD", "w-1", "sub"), 0o755))
	must(t, os.Chmod(c.path(tmpName, "DEAD", "w-1"), 0o555))
	must(t, os.MkdirAll(c.path(tmpName, "ORPHAN"), 0o755))
	other := openTest(t, dir, Options{}, hooks{unnamed: true})
	for range 200 {
		if _, err = os.Stat(c.path(leasesName, "DEAD")); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	must(t, other.Close())
	list, err := names(c.path(tmpName))
	must(t, err)
	if !slices.Equal(list, []string{c.leases.lease.id}) {
		t.Errorf("left in tmp: %q", list)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("the folder of a live process: %v", err)
	}
	must(t, c.Close())
	if left := append(entriesOf(t, dir+"/tmp"), entriesOf(t, dir+"/leases")...); len(left) != 0 {
		t.Errorf("left after Close: %q", left)
	}
}

// Where somebody removed objects by hand, one look-up finds all that is lost.
func TestLostObjects(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	record(t, c, "kept", putTree(t, c, "kept", 5))
	for _, name := range []string{"a", "b", "c"} {
		ref := putTree(t, c, name, 5)
		record(t, c, name, ref)
		must(t, os.Remove(c.objectPath(ref.ID, false)))
	}
	if has(t, c, "b") {
		t.Error("a record without content was found")
	}
	for _, name := range []string{"a", "b", "c"} {
		if tomb, err := c.Evicted(t.Context(), actionOf(name)); err != nil || tomb.Reason != "corrupt" {
			t.Errorf("tombstone of %s: %+v, %v", name, tomb, err)
		}
	}
	if !has(t, c, "kept") {
		t.Error("a whole record was dropped")
	}
}
