package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/cachetest"
	"github.com/mleflow/mleflow/cache/digest"
)

// TestConformance checks that a tier is as good a cache as the one it wraps,
// while everything is stored in the background.
func TestConformance(t *testing.T) {
	for name, address := range map[string]func(t *testing.T) string{
		"folder":  func(t *testing.T) string { a, _ := folder(t); return a },
		"path":    func(t *testing.T) string { return t.TempDir() },
		"nowhere": func(*testing.T) string { return "file:///proc/nowhere" },
	} {
		t.Run(name, func(t *testing.T) {
			open := func(t *testing.T) *machine { return newMachine(t, address(t), quick) }
			cachetest.TestIndex(t, func(t *testing.T) cachetest.Cache { return open(t) })
			if name != "folder" {
				return // only an index has to do with the remote when nothing is there
			}
			cachetest.TestStore(t, func(t *testing.T) cache.Store { return open(t) })
			cachetest.TestLocker(t, func(t *testing.T) cache.Locker { return open(t) })
			cachetest.TestReserver(t, func(t *testing.T, quota int64) cachetest.ReservingStore {
				return newMachineOn(t, openDiskOf(t, quota), address(t), quick)
			})
		})
	}
}

func TestTransfer(t *testing.T) {
	address, bucket := folder(t)
	a, b := newMachine(t, address, quick), newMachine(t, address, quick)
	dir := sample(t, 1, 300, 3)
	rec := a.made("a", dir, []byte("a small output"))
	if got := b.take(rec.Action); got != nil {
		t.Fatalf("found %v before it was stored", got)
	}
	a.mustPush(rec)
	if got := b.Find(t.Context(), []digest.ActionID{rec.Action}); cmp.Diff(rec, got[0]) != "" {
		t.Fatalf("Find: %s", cmp.Diff(rec, got[0]))
	}
	if _, err := b.disk.Lookup(t.Context(), rec.Action); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("a record whose content is elsewhere entered the local index: %v", err)
	}
	if got := b.take(rec.Action); cmp.Diff(rec, got) != "" {
		t.Fatalf("take: %s", cmp.Diff(rec, got))
	}
	if got, err := b.disk.Lookup(t.Context(), rec.Action); err != nil || cmp.Diff(rec, got) != "" {
		t.Errorf("local Lookup: %v %s", err, cmp.Diff(rec, got))
	}
	b.wantTree(rec.Outputs["tree"].Ref, dir)
	if packs, _ := filepath.Glob(filepath.Join(bucket, packsName, "*", "*")); len(packs) != 1 {
		t.Errorf("%d packs, want 1: %v", len(packs), packs)
	}
	if large, _ := filepath.Glob(filepath.Join(bucket, objectsName, "*", "*")); len(large) != 4 {
		t.Errorf("%d objects, want 3 large ones and an output", len(large))
	}
	before := a.Stats().BytesOut
	if a.mustPush(rec); a.Stats().BytesOut != before {
		t.Errorf("pushing again sent %d bytes", a.Stats().BytesOut-before)
	}
}

// TestReadThrough reads content that only a known record names.
func TestReadThrough(t *testing.T) {
	address, _ := folder(t)
	a, b := newMachine(t, address, quick), newMachine(t, address, quick)
	dir := sample(t, 2, 20, 1)
	rec := a.made("a", dir, []byte("text"))
	a.mustPush(rec)
	b.Find(t.Context(), []digest.ActionID{rec.Action})
	if data, err := cache.Get(t.Context(), b, rec.Outputs["blob"].Ref.ID, 100); err != nil || string(data) != "text" {
		t.Errorf("Get = %q, %v", data, err)
	}
	if _, err := b.Has(t.Context(), rec.Outputs["tree"].Ref.ID); err != nil {
		t.Errorf("Has: %v", err)
	}
	b.wantTree(rec.Outputs["tree"].Ref, dir)
}

// TestLookupAsksNobody is what makes plan work without a network.
func TestLookupAsksNobody(t *testing.T) {
	address, _ := folder(t)
	a := newMachine(t, address, quick)
	local := openDisk(t)
	rec := a.made("a", sample(t, 3, 3, 0), nil)
	a.mustPush(rec)
	b := newMachineOn(t, local, address, quick)
	if _, err := b.Lookup(t.Context(), rec.Action); !errors.Is(err, cache.ErrNotFound) || b.Stats().Requests != 0 {
		t.Fatalf("Lookup: %v after %d requests, want a miss after none", err, b.Stats().Requests)
	}
	b.Find(t.Context(), []digest.ActionID{rec.Action})
	again := newMachineOn(t, local, address, quick)
	got, err := again.Lookup(t.Context(), rec.Action)
	if err != nil || cmp.Diff(rec, got) != "" || again.Stats().Requests != 0 {
		t.Errorf("Lookup: %v %s after %d requests, want what was known after none", err, cmp.Diff(rec, got), again.Stats().Requests)
	}
}

func TestBackground(t *testing.T) {
	address, _ := folder(t)
	a, b := newMachine(t, address, quick), newMachine(t, address, quick)
	var recs []*cache.Record
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		rec := a.made(name, sample(t, 4, 30, 1), []byte(name))
		recs = append(recs, rec)
		if err := a.Record(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	if left := a.Finish(t.Context()); left != 0 {
		t.Fatalf("%d results left; %v", left, a.said())
	}
	for _, rec := range recs {
		if b.take(rec.Action) == nil {
			t.Errorf("%s is a miss; %v", rec.Address, b.said())
		}
	}
}

// TestFinishHasALimit says what is left when the time is over.
func TestFinishHasALimit(t *testing.T) {
	a := newMachine(t, "s3://bucket?region=x&anonymous=true&use_path_style=true&endpoint=http://127.0.0.1:1", patience{
		attempts: 100, base: 1 << 40, most: 1 << 40, stall: 1 << 40, strikes: 10, pause: 1,
	})
	if err := a.Record(t.Context(), a.recordOf("a", cache.Outputs{"blob": {Ref: a.putBlob([]byte("x"))}})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if left := a.Finish(ctx); left != 1 {
		t.Errorf("%d left, want 1", left)
	}
}

func TestReadOnly(t *testing.T) {
	address, bucket := folder(t)
	a, b := newMachine(t, address, quick), newMachine(t, address+"?mode=read", quick)
	rec := a.made("a", sample(t, 5, 5, 0), []byte("x"))
	a.mustPush(rec)
	if b.take(rec.Action) == nil {
		t.Errorf("a miss: %v", b.said())
	}
	other := b.made("b", sample(t, 6, 5, 0), []byte("y"))
	if err := b.Push(t.Context(), other); !errors.Is(err, errReadOnly) {
		t.Errorf("Push: %v, want ErrReadOnly", err)
	}
	if err := b.Record(t.Context(), other); err != nil || b.Finish(t.Context()) != 0 {
		t.Errorf("Record: %v", err)
	}
	if _, err := os.Stat(filepath.Join(bucket, actionKey(other.Action))); err == nil {
		t.Error("a read-only tier wrote a record")
	}
}

// TestIncompleteIsAMiss takes away what a record needs, one thing at a time.
func TestIncompleteIsAMiss(t *testing.T) {
	for _, what := range []string{packsName, objectsName, closuresName, actionsName} {
		t.Run(what, func(t *testing.T) {
			address, bucket := folder(t)
			a, b := newMachine(t, address, quick), newMachine(t, address, quick)
			dir := sample(t, 7, 50, 2)
			rec := a.made("a", dir, []byte("small"))
			a.mustPush(rec)
			if err := os.RemoveAll(filepath.Join(bucket, what)); err != nil {
				t.Fatal(err)
			}
			if got := b.take(rec.Action); got != nil {
				t.Fatalf("a hit although %s is gone", what)
			}
			if _, err := b.disk.Lookup(t.Context(), rec.Action); !errors.Is(err, cache.ErrNotFound) {
				t.Errorf("the record entered the local index: %v", err)
			}
			// A run that makes it again stores it again.
			b.mustPush(b.made("a", dir, []byte("small")))
			c := newMachine(t, address, quick)
			if c.take(rec.Action) == nil {
				t.Fatalf("a miss after it was stored again: %v", c.said())
			}
			c.wantTree(rec.Outputs["tree"].Ref, dir)
		})
	}
}

// TestDamageIsNoticed flips one bit of every kind of object in turn.
func TestDamageIsNoticed(t *testing.T) {
	for _, what := range []string{packsName, objectsName, closuresName, actionsName} {
		t.Run(what, func(t *testing.T) {
			address, bucket := folder(t)
			a, b := newMachine(t, address, quick), newMachine(t, address, quick)
			dir := sample(t, 8, 50, 2)
			rec := a.made("a", dir, noise(9, 3000))
			a.mustPush(rec)
			damage(t, bucket, what)
			if got := b.take(rec.Action); got != nil {
				t.Fatalf("a hit although %s is damaged", what)
			}
			if b.Stats().Corrupt == 0 || len(b.said()) != 1 {
				t.Errorf("damage was not reported: %+v, %q", b.Stats(), b.said())
			}
			b.mustPush(b.made("a", dir, noise(9, 3000)))
			c := newMachine(t, address, quick)
			if c.take(rec.Action) == nil {
				t.Fatalf("a miss after it was stored again: %v", c.said())
			}
			c.wantTree(rec.Outputs["tree"].Ref, dir)
		})
	}
}

// damage flips a bit near the end of every object in a folder of a bucket.
func damage(t testing.TB, bucket, what string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(bucket, what, "*", "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("nothing to damage in %s: %v", what, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)*9/10] ^= 4
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFormatOfAnotherVersion(t *testing.T) {
	address, bucket := folder(t)
	if err := os.WriteFile(filepath.Join(bucket, formatKey), []byte("mleflow remote cache 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	a := newMachine(t, address, quick)
	rec := a.made("a", sample(t, 9, 2, 0), nil)
	if err := a.Push(t.Context(), rec); !errors.Is(err, errFormat) {
		t.Errorf("Push: %v, want ErrFormat", err)
	}
	b := newMachine(t, address, quick)
	if b.take(rec.Action) != nil || len(b.said()) != 1 {
		t.Errorf("want a miss and one warning, got %q", b.said())
	}
}

// TestFetchWhatIsLacking fetches a tree of which another machine has all but a few
// files. Not much more than these is transferred, and the rest of a pack after the last
// of them isn't.
func TestFetchWhatIsLacking(t *testing.T) {
	const files, size = 150, 200_000 // about 30 MB, one pack
	for _, lacking := range [][]int{{0}, {2, 3}, {1, 75}, {149}, {}} {
		address, _ := folder(t)
		a, b := newMachine(t, address, quick), newMachine(t, address, quick)
		dir := t.TempDir()
		for i := range files {
			data := noise(uint64(i), size)
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d", i)), data, 0o644); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(lacking, i) {
				b.putBlob(data)
			}
		}
		rec := a.made("a", dir, nil)
		a.mustPush(rec)
		if b.take(rec.Action) == nil {
			t.Fatal("not found")
		}
		b.wantTree(rec.Outputs["tree"].Ref, dir)
		if got, most := b.Stats().BytesIn, int64(len(lacking)*size+1_000_000); got > most {
			t.Errorf("lacking %v: %d bytes were transferred, want at most %d", lacking, got, most)
		}
	}
}
