package disk

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
)

func shareTree(t testing.TB, c *Cache, ref cache.Ref) cache.Shared {
	t.Helper()
	s, err := c.Share(t.Context(), ref, nil)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// spoil writes to a file of a read-only folder as a process of the same user can.
func spoil(t testing.TB, path string) {
	t.Helper()
	must(t, os.Chmod(path, 0o644))
	must(t, os.WriteFile(path, []byte("spoilt"), 0o644))
}

func wantChanged(t testing.TB, s cache.Shared, want cache.ChangedError) {
	t.Helper()
	var got *cache.ChangedError
	if err := s.Check(t.Context()); !errors.As(err, &got) || *got != want {
		t.Fatalf("Check = %v, want %+v", err, want)
	}
}

// wantFresh fails unless sharing the tree gives another folder with its content.
func wantFresh(t testing.TB, c *Cache, ref cache.Ref, old cache.Shared) cache.Shared {
	t.Helper()
	s := shareTree(t, c, ref)
	if n, _ := s.Copied(); s.Dir() == old.Dir() || n != ref.Files {
		t.Errorf("%s was given out again; copied %d files", old.Dir(), n)
	}
	if what, err := tree.Compare(t.Context(), c, ref, s.Dir()); what != "" || err != nil {
		t.Errorf("the new folder differs: %s, %v", what, err)
	}
	must(t, s.Check(t.Context()))
	return s
}

// A tree is copied once, however many want it at the same time.
func TestShare(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putTree(t, c, "x", 20)
	if files, bytes := c.ShareCost(ref); files != 20 || bytes != ref.Size && !c.shares.clones() {
		t.Errorf("it would cost %d files of %d bytes", files, bytes)
	}
	var mu sync.Mutex
	var copied int64
	dirs := map[string]bool{}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			s, err := c.Share(t.Context(), ref, func(files, bytes int64) {})
			if err != nil {
				t.Error(err)
				return
			}
			n, _ := s.Copied()
			mu.Lock()
			copied += n
			dirs[s.Dir()] = true
			mu.Unlock()
			what, err := tree.Compare(t.Context(), c, ref, s.Dir())
			if err := errors.Join(err, s.Check(t.Context()), s.Close(), s.Close()); what != "" || err != nil {
				t.Errorf("the folder differs: %s, %v", what, err)
			}
		})
	}
	all.Wait()
	if copied != 20 || len(dirs) != 1 {
		t.Errorf("%d files were copied to %d folders", copied, len(dirs))
	}
	s := shareTree(t, c, ref)
	if files, bytes := s.Copied(); files != 0 || bytes != 0 || !dirs[s.Dir()] {
		t.Errorf("copied %d files of %d bytes again", files, bytes)
	}
	if files, bytes := c.ShareCost(ref); files != 0 || bytes != 0 {
		t.Errorf("it would cost %d files of %d bytes again", files, bytes)
	}
	info, err := c.Info(t.Context())
	if err != nil || info.Copies != 1 || info.CopiedBytes > ref.Size {
		t.Errorf("%+v, %v", info, err)
	}
	wantCounted(t, c)
	wantVerified(t, c)
}

// Nothing in the folder is a file of the store, so that a user who may change its
// mode and write to it does not reach the store.
func TestShareKeepsObjects(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putTree(t, c, "x", 10)
	record(t, c, "x", ref)
	s := shareTree(t, c, ref)
	for _, name := range entriesOf(t, s.Dir()) {
		path := filepath.Join(s.Dir(), name)
		info, err := os.Lstat(path)
		must(t, err)
		if info.Mode().Perm()&0o222 != 0 {
			t.Errorf("%s may be written to: %v", name, info.Mode())
		}
		if !info.IsDir() {
			if n := links(t, path); n != 1 {
				t.Errorf("%s has %d names", name, n)
			}
			spoil(t, path)
		}
	}
	wantVerified(t, c)
	must(t, closure(t, c, ref))
}

// What was changed is found by its content, and never given out again.
func TestShareChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(t *testing.T, dir string)
		what   string
	}{
		"written": {func(t *testing.T, dir string) { spoil(t, dir+"/d1/f1") }, `"d1/f1" has different content`},
		"written with its old time": {func(t *testing.T, dir string) {
			info, err := os.Stat(dir + "/d1/f1")
			must(t, err)
			must(t, os.Chmod(dir+"/d1/f1", 0o644))
			must(t, os.WriteFile(dir+"/d1/f1", []byte("X 1"), 0o644))
			must(t, os.Chmod(dir+"/d1/f1", info.Mode()))
			must(t, os.Chtimes(dir+"/d1/f1", info.ModTime(), info.ModTime()))
		}, `"d1/f1" has different content`},
		"removed": {func(t *testing.T, dir string) {
			must(t, os.Chmod(dir+"/d2", 0o755))
			must(t, os.Remove(dir+"/d2/f2"))
		}, `"d2/f2" is missing`},
		"added": {func(t *testing.T, dir string) {
			must(t, os.Chmod(dir+"/d0", 0o755))
			must(t, os.WriteFile(dir+"/d0/new", nil, 0o644))
		}, `"d0/new" was added`},
		"link in place of a folder": {func(t *testing.T, dir string) {
			must(t, os.Chmod(dir, 0o755))
			must(t, tree.Remove(dir+"/d0"))
			must(t, os.Symlink("/etc", dir+"/d0"))
		}, `"d0" has different content`},
		"mode": {func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o755)) }, ""},
		"link": {func(t *testing.T, dir string) { must(t, os.Link(dir+"/d0/f3", t.TempDir()+"/f3")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
			ref := putTree(t, c, "x", 9)
			s := shareTree(t, c, ref)
			must(t, s.Check(t.Context()))
			tt.change(t, s.Dir())
			wantChanged(t, s, cache.ChangedError{What: tt.what})
			next := wantFresh(t, c, ref, s)
			must(t, s.Close())
			if _, err := os.Lstat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the changed folder is still there: %v", err)
			}
			// Nobody else had it, so that the tree is still shared.
			if again := shareTree(t, c, ref); again.Dir() != next.Dir() {
				t.Error("the tree is not shared any more")
			}
			wantCounted(t, c)
		})
	}
}

// A folder that was changed when nobody looked is not given out.
func TestShareChangedUnseen(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putTree(t, c, "x", 9)
	s := shareTree(t, c, ref)
	spoil(t, s.Dir()+"/d1/f1")
	must(t, s.Close()) // as if the process was killed before it looked
	wantFresh(t, c, ref, s)
	wantCounted(t, c)
}

// When several had a folder that was changed, all are told, and from then on each
// gets its own, so that the next change has one author.
func TestShareChangedByOneOfTwo(t *testing.T) {
	clk := &clock{}
	c := openTest(t, t.TempDir(), Options{}, clk.hooks())
	ref := putTree(t, c, "x", 9)
	a, b := shareTree(t, c, ref), shareTree(t, c, ref)
	if a.Dir() != b.Dir() {
		t.Fatal("they share nothing")
	}
	spoil(t, a.Dir()+"/d1/f1")
	wantChanged(t, b, cache.ChangedError{Shared: true})
	must(t, b.Close())
	third := wantFresh(t, c, ref, a)
	wantChanged(t, a, cache.ChangedError{Shared: true})
	must(t, a.Close())
	fourth := wantFresh(t, c, ref, third)
	spoil(t, fourth.Dir()+"/d1/f1")
	wantChanged(t, fourth, cache.ChangedError{What: `"d1/f1" has different content`})
	must(t, third.Check(t.Context()))
	must(t, errors.Join(third.Close(), fourth.Close()))
	if list := entriesOf(t, c.path(sharesName)); len(list) != 1 {
		t.Errorf("left: %q", list)
	}
	// Some time later they are shared again.
	clk.seconds.Add(int64(sharedFor/time.Second) + 1_000_000_000)
	must(t, c.shares.dropShares())
	if a, b = shareTree(t, c, ref), shareTree(t, c, ref); a.Dir() != b.Dir() {
		t.Error("the tree stays apart for ever")
	}
	wantCounted(t, c)
}

// Those that were one after the other did not have it at the same time.
func TestShareInTurns(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putTree(t, c, "x", 9)
	a, b := shareTree(t, c, ref), shareTree(t, c, ref)
	must(t, errors.Join(a.Close(), b.Close()))
	s := shareTree(t, c, ref)
	if s.Dir() != a.Dir() {
		t.Fatal("it was copied again")
	}
	spoil(t, s.Dir()+"/d1/f1")
	wantChanged(t, s, cache.ChangedError{What: `"d1/f1" has different content`})
}

// A folder counts in the quota, stays while it is used, and goes before results do.
func TestShareQuota(t *testing.T) {
	clk := &clock{}
	dir := t.TempDir()
	var ref, other cache.Ref
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		if c.shares.clones() {
			t.Skip("a copy takes nothing on this file system")
		}
		ref, other = putTree(t, c, "x", 200), putTree(t, c, "y", 200)
		record(t, c, "x", ref)
		record(t, c, "y", other)
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		before := c.state.used.Load()
		s := shareTree(t, c, ref)
		must(t, shareTree(t, c, other).Close())
		if grown := c.state.used.Load() - before; grown != ref.Size+other.Size {
			t.Errorf("%d bytes are counted, want %d", grown, ref.Size+other.Size)
		}
		dry, err := c.GC(t.Context(), GCOptions{DryRun: true})
		if err != nil || dry.Copies != 1 || dry.Bytes != other.Size {
			t.Errorf("it would remove %+v, %v", dry, err)
		}
		res, err := c.GC(t.Context(), GCOptions{MaxSize: before + ref.Size})
		if err != nil || res.Copies != 1 || len(res.Evicted) != 0 || res.Kept != "" {
			t.Errorf("removed %+v, %v", res, err)
		}
		must(t, s.Check(t.Context()))
		wantCounted(t, c)
		must(t, s.Close())
		res, err = c.GC(t.Context(), GCOptions{})
		if err != nil || res.Copies != 1 || res.DiskBytes != ref.Size || c.state.used.Load() != before {
			t.Errorf("removed %+v, %v", res, err)
		}
		wantCounted(t, c)
	})
	session(t, dir, Options{Quota: 100}, clk.hooks(), func(c *Cache) {
		if _, err := c.Share(t.Context(), ref, nil); !errors.Is(err, cache.ErrQuota) {
			t.Errorf("Share beyond the quota: %v", err)
		}
	})
}

// What may not have been on the disk when the machine went down is made again.
func TestShareBoot(t *testing.T) {
	dir := t.TempDir()
	var ref cache.Ref
	var old cache.Shared
	session(t, dir, Options{}, hooks{unnamed: true, bootID: "1"}, func(c *Cache) {
		ref = putTree(t, c, "x", 9)
		record(t, c, "x", ref)
		old = shareTree(t, c, ref)
		must(t, old.Close())
	})
	session(t, dir, Options{}, hooks{unnamed: true, bootID: "2"}, func(c *Cache) {
		must(t, wantFresh(t, c, ref, old).Close())
		if list, err := names(c.path(sharesName)); err != nil || len(list) != 1 {
			t.Errorf("left: %q, %v", list, err)
		}
	})
}

// A failure leaves nothing.
func TestShareFails(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	blob := putText(t, c, "text")
	if _, err := c.Share(t.Context(), blob, nil); err == nil {
		t.Error("a blob was shared")
	}
	ref := putTree(t, c, "x", 30)
	must(t, tree.Walk(t.Context(), c, ref, func(_ string, e tree.Entry) error {
		if e.IsDir() {
			return nil
		}
		return ignoreMissing(os.Remove(c.objectPath(e.ID, false)))
	}))
	_, err := c.Share(t.Context(), ref, nil)
	wantErr(t, err, cache.ErrNotFound)
	if list := entriesOf(t, c.path(sharesName)); len(list) != 0 {
		t.Errorf("left: %q", list)
	}
	if n := c.leases.lease.counted().sum(); n != 0 {
		t.Errorf("%d bytes are still in flight", n)
	}
}
