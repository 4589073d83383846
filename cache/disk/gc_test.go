package disk

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/flock"
)

func TestGCRemovesGarbage(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	var kept, garbage, shared cache.Ref
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		shared = putText(t, c, "kept 0") // also a file of the tree
		kept = putTree(t, c, "kept", 20)
		garbage = putTree(t, c, "garbage", 20)
		record(t, c, "keep", kept)
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		dry, err := c.GC(t.Context(), GCOptions{DryRun: true})
		must(t, err)
		if !present(c, garbage) {
			t.Error("a dry run removed something")
		}
		res, err := c.GC(t.Context(), GCOptions{})
		must(t, err)
		if diff := cmp.Diff(dry, res); diff != "" {
			t.Errorf("the dry run told something else (-dry +real):\n%s", diff)
		}
		if present(c, garbage) || res.Objects != 24 || len(res.Evicted) != 0 {
			t.Errorf("result %+v, garbage present: %v", res, present(c, garbage))
		}
		must(t, closure(t, c, kept))
		must(t, closure(t, c, shared))
		wantVerified(t, c)
		wantCounted(t, c)
	})
}

func TestGCKeepsWhatIsYoung(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	var old cache.Ref
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) { old = putText(t, c, "old") })
	clk.step()
	worker := openTest(t, dir, Options{}, clk.hooks())
	young := putText(t, worker, "young")
	putText(t, worker, "old") // found present: wanted again
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		_, err := c.GC(t.Context(), GCOptions{MaxSize: 1})
		must(t, err)
	})
	must(t, closure(t, worker, young))
	must(t, closure(t, worker, old))
	record(t, worker, "use", young, old)
}

func TestGCEvictsLeastRecentlyUsed(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		for i := range 6 {
			record(t, c, fmt.Sprint(i), putText(t, c, fmt.Sprintf("%01000d", i)))
			clk.step()
		}
	})
	// A use moves 0 to the end.
	clk.seconds.Add(4000)
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		if !has(t, c, "0") {
			t.Fatal("record 0 is missing")
		}
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		must(t, c.Pin(t.Context(), Pin{Name: "lock file", Actions: []digest.ActionID{actionOf("2")}}))
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		res, err := c.GC(t.Context(), GCOptions{MaxSize: 3000})
		must(t, err)
		var evicted []string
		for _, it := range res.Evicted {
			evicted = append(evicted, it.Address)
		}
		if diff := cmp.Diff([]string{"step.test.1", "step.test.3", "step.test.4"}, evicted); diff != "" {
			t.Errorf("evicted (-want +got):\n%s", diff)
		}
		if res.BytesLeft != 3000 || res.ObjectsLeft != 3 || res.Kept != "" {
			t.Errorf("result %+v", res)
		}
		tomb, err := c.Evicted(t.Context(), actionOf("3"))
		want := cache.Tombstone{Action: actionOf("3"), EvictedUnixMilli: clk.now().UnixMilli(), Reason: "gc"}
		if err != nil || tomb != want {
			t.Errorf("tombstone %+v, %v, want %+v", tomb, err, want)
		}
		wantVerified(t, c)
		wantCounted(t, c)
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		res, err := c.GC(t.Context(), GCOptions{MaxSize: 1})
		must(t, err)
		if !has(t, c, "2") || has(t, c, "0") || has(t, c, "5") || res.Kept == "" {
			t.Errorf("only the pinned record should be left: %+v", res)
		}
		must(t, c.Unpin(t.Context(), "lock file"))
		wantErr(t, c.Unpin(t.Context(), "lock file"), cache.ErrNotFound)
	})
}

func TestGCKeepsRecordsThatFreeNothing(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		ref := putTree(t, c, "shared", 10)
		record(t, c, "value only")
		record(t, c, "shared 1", ref)
		record(t, c, "shared 2", ref)
		must(t, c.Pin(t.Context(), Pin{Name: "p", Refs: []cache.Ref{ref}}))
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		res, err := c.GC(t.Context(), GCOptions{MaxSize: 1})
		must(t, err)
		if len(res.Evicted) != 0 || !has(t, c, "shared 1") || !has(t, c, "shared 2") || !has(t, c, "value only") {
			t.Errorf("result %+v", res)
		}
	})
}

func TestGCKeepsWhatOthersUse(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		record(t, c, "used", putTree(t, c, "used", 5))
		record(t, c, "replaced", putTree(t, c, "first", 5))
		record(t, c, "unused", putTree(t, c, "unused", 5))
	})
	clk.step()
	user := openTest(t, dir, Options{}, clk.hooks())
	if !has(t, user, "used") {
		t.Fatal("record is missing")
	}
	rec, err := user.Lookup(t.Context(), actionOf("replaced"))
	must(t, err)
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) { record(t, c, "replaced", putText(t, c, "second")) })
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		_, err := c.GC(t.Context(), GCOptions{MaxSize: 1})
		must(t, err)
		if has(t, c, "unused") || !has(t, c, "used") {
			t.Error("the wrong records were evicted")
		}
	})
	must(t, closure(t, user, rec.Outputs["out0"].Ref))
	if has(t, user, "unused") {
		t.Error("the other process still sees an evicted record")
	}
}

// A record that is looked up while it is being evicted stays.
func TestGCSparesLateUse(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		record(t, c, "a", putTree(t, c, "a", 5))
		record(t, c, "b", putTree(t, c, "b", 5))
	})
	clk.step()
	user := openTest(t, dir, Options{}, clk.hooks())
	h := clk.hooks()
	h.at = func(point string) {
		if point == "dropped" {
			user.leases.lease.use(actionOf("a")) // as Lookup does before it looks
		}
	}
	session(t, dir, Options{}, h, func(c *Cache) {
		res, err := c.GC(t.Context(), GCOptions{MaxSize: 1})
		must(t, err)
		if len(res.Evicted) != 1 || res.Evicted[0].Address != "step.test.b" {
			t.Errorf("evicted %+v, want b alone", res.Evicted)
		}
	})
	rec, err := user.Lookup(t.Context(), actionOf("a"))
	must(t, err)
	must(t, closure(t, user, rec.Outputs["out0"].Ref))
}

// What a process writes or finds present while a collection has already
// decided to remove it stays.
func TestGCSparesLateIngest(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	var garbage cache.Ref
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) { garbage = putTree(t, c, "garbage", 10) })
	clk.step()
	user := openTest(t, dir, Options{}, clk.hooks())
	h := clk.hooks()
	h.at = func(point string) {
		if point == "marked" {
			if again := putTree(t, user, "garbage", 8); again == garbage {
				t.Error("the trees should differ")
			}
			putText(t, user, "new")
		}
	}
	session(t, dir, Options{}, h, func(c *Cache) {
		res, err := c.GC(t.Context(), GCOptions{})
		must(t, err)
		if res.Objects < 2 || res.Objects > 6 || present(c, garbage) {
			t.Errorf("removed %+v, want two files and the folders they were in", res)
		}
	})
	must(t, closure(t, user, putTree(t, user, "garbage", 8)))
	record(t, user, "a", putTree(t, user, "garbage", 8), putText(t, user, "new"))
	wantVerified(t, user)
	wantCounted(t, user)
}

func TestGCWaitsForHolders(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		putText(t, c, "garbage")
		_, err := c.GC(t.Context(), GCOptions{}) // makes the lock file
		must(t, err)
	})
	clk.step()
	reader := openTest(t, dir, Options{ReadOnly: true}, clk.hooks())
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		_, err := c.GC(t.Context(), GCOptions{})
		wantErr(t, err, errHeld)
		must(t, reader.Close())
		res, err := c.GC(t.Context(), GCOptions{})
		must(t, err)
		if res.Objects != 1 {
			t.Errorf("result %+v", res)
		}
	})
}

// TestHolderGoesOn: a process that protects everything still does when it may not collect,
// although the kernel drops a shared lock that cannot become an exclusive one.
func TestHolderGoesOn(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{})
	var locks [3]*os.File
	for i := range locks {
		f, err := c.openLock("hold")
		must(t, err)
		defer f.Close()
		locks[i] = f
	}
	must(t, flock.LockShared(locks[0]))
	must(t, flock.LockShared(locks[1]))
	c.leases.lease.hold = locks[0]
	defer func() { c.leases.lease.hold = nil }()
	_, err := c.leases.lockHold()
	wantErr(t, err, errHeld)
	must(t, flock.Unlock(locks[1]))
	if free, err := flock.Try(locks[2]); free || err != nil {
		t.Errorf("nobody holds the cache any more: %v, %v", free, err)
	}
}

func TestCompaction(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	other := openTest(t, dir, Options{}, clk.hooks())
	long := make([]byte, 10_000)
	for i := range long {
		long[i] = byte(i)
	}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		for i := range 400 {
			rec := recordOf(fmt.Sprint(i % 20))
			rec.Outputs["v"] = cache.Value{JSON: append(long, fmt.Sprint(i)...)}
			must(t, c.Record(t.Context(), rec))
		}
		record(t, c, "content", putText(t, c, "text"))
		must(t, c.objects.quarantine(digest.Of([]byte("text")), false))
		if has(t, c, "content") {
			t.Fatal("a record without content was found")
		}
		stats, err := c.records.index.Stats()
		must(t, err)
		_, err = c.GC(t.Context(), GCOptions{})
		must(t, err)
		info, err := os.Stat(c.records.index.Path)
		must(t, err)
		if info.Size() > stats.Bytes/10 {
			t.Errorf("the index has %d of %d bytes after compaction", info.Size(), stats.Bytes)
		}
	})
	for _, c := range []*Cache{other, openTest(t, dir, Options{}, clk.hooks())} {
		for i := range 20 {
			rec, err := c.Lookup(t.Context(), actionOf(fmt.Sprint(i)))
			must(t, err)
			if want := string(long) + fmt.Sprint(380+i); string(rec.Outputs["v"].JSON) != want {
				t.Fatalf("record %d is not the last one", i)
			}
		}
		if tomb, err := c.Evicted(t.Context(), actionOf("content")); err != nil || tomb.Reason != "corrupt" {
			t.Errorf("tombstone %+v, %v", tomb, err)
		}
	}
	record(t, other, "new")
	if !has(t, other, "new") {
		t.Error("a record made after the compaction is missing")
	}
}

func TestUsesSurviveCompaction(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) { record(t, c, "a", putText(t, c, "a")) })
	clk.seconds.Add(7200)
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) { has(t, c, "a") })
	used := clk.now().UnixMilli()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		must(t, c.records.index.Rewrite())
	})
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		list, err := c.List(t.Context())
		must(t, err)
		if len(list) != 1 || list[0].UsedUnixMilli != used {
			t.Errorf("list %+v, want a use at %d", list, used)
		}
	})
}

func TestGCDropsOldLeftovers(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	begin := func(c *Cache, key string) {
		in, err := c.Ingest(t.Context(), key)
		must(t, err)
		_, err = in.Write(make([]byte, 1000))
		must(t, err)
		must(t, in.Close())
		path := c.path(ingestName, digest.Of([]byte(key)).String())
		must(t, os.Chtimes(path, clk.now(), clk.now()))
	}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		begin(c, "old")
		putText(t, c, "damaged long ago")
		must(t, c.objects.quarantine(digest.Of([]byte("damaged long ago")), false))
		lone := c.path(ingestName, digest.Of([]byte("gone")).String()+".state")
		must(t, os.WriteFile(lone, []byte("{}"), 0o600))
		must(t, os.Chtimes(lone, clk.now(), clk.now()))
		clk.seconds.Add(dropOldAfter)
		begin(c, "young")
		putText(t, c, "damaged")
		must(t, c.objects.quarantine(digest.Of([]byte("damaged")), false))
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		_, err := c.GC(t.Context(), GCOptions{})
		must(t, err)
		if left := entriesOf(t, dir+"/ingest"); len(left) != 2 {
			t.Errorf("ingests left: %q, want the young one and its saved state", left)
		}
		if left := entriesOf(t, dir+"/quarantine"); len(left) != 1 {
			t.Errorf("quarantined objects left: %q, want the young one", left)
		}
		wantCounted(t, c)
	})
}

// TestGCProgress ends where it is complete, when looking and when evicting.
func TestGCProgress(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		for i := range 40 {
			record(t, c, fmt.Sprint(i), putTree(t, c, fmt.Sprint(i), 100))
		}
		putTree(t, c, "garbage", 100)
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		last := map[string]GCProgress{}
		res, err := c.GC(t.Context(), GCOptions{MaxSize: 1, Progress: func(p GCProgress) {
			if before := last[p.What]; p.Done < before.Done || p.Done > p.Total || p.Removed < before.Removed {
				t.Errorf("%+v after %+v", p, before)
			}
			last[p.What] = p
		}})
		must(t, err)
		looking, evicting := last["looking for what nothing needs"], last["evicting"]
		if all := res.Objects + res.ObjectsLeft; looking.Done != all || looking.Total != all || last["counting"].Done == 0 {
			t.Errorf("%+v, %+v of %d objects", last["counting"], looking, all)
		}
		if evicting.Total != evicting.Done || evicting.Done+100 > res.Objects || evicting.Done < 4000 || evicting.Removed != res.Bytes || looking.Removed == 0 {
			t.Errorf("%+v, %+v of %d bytes", looking, evicting, res.Bytes)
		}
	})
}
