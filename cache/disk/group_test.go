package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
)

// sharedCache makes a cache for the group of this process.
func sharedCache(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache")
	if _, err := InitShared(dir, strconv.Itoa(os.Getegid())); err != nil {
		t.Fatal(err)
	}
	return dir
}

func textRef(text string) cache.Ref {
	return cache.Ref{Kind: cache.Blob, ID: digest.Of([]byte(text)), Size: int64(len(text))}
}

// TestSharedGC: a process cannot touch another user's object that it finds present. In a
// shared cache its lease keeps the object also if the collection has already decided to
// remove it, and has no effect then in another cache.
func TestSharedGC(t *testing.T) {
	for _, grouped := range []bool{true, false} {
		dir, clk := sharedCache(t), &clock{}
		if !grouped {
			dir = t.TempDir()
		}
		h := clk.hooks()
		session(t, dir, Options{}, h, func(c *Cache) { putText(t, c, "used"); putText(t, c, "garbage") })
		clk.step()
		user := openTest(t, dir, Options{}, clk.hooks())
		used := textRef("used")
		h.at = func(point string) {
			if point == "marked" {
				user.leases.lease.use(used.ID)
			}
		}
		session(t, dir, Options{}, h, func(c *Cache) {
			_, err := c.GC(t.Context(), GCOptions{})
			must(t, err)
			if present(c, used) != grouped || present(c, textRef("garbage")) {
				t.Errorf("shared: %v; present after the collection: %v, garbage %v", grouped, present(c, used), present(c, textRef("garbage")))
			}
		})
	}
}

// TestInitShared gives a cache to a group again and again, refuses what it cannot give, and
// follows nothing that somebody put there.
func TestInitShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	session(t, dir, Options{}, hooks{}, func(c *Cache) { record(t, c, "a", putTree(t, c, "a", 5)) })
	outside := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(outside, nil, 0o600))
	must(t, os.Symlink(outside, filepath.Join(dir, "locks", "link")))
	for range 2 {
		res, err := InitShared(dir, strconv.Itoa(os.Getegid()))
		if err != nil || len(res.Others) > 0 {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	private, file := filepath.Join(dir, "pins", "moved"), filepath.Join(dir, "pins", "linked")
	must(t, os.Mkdir(private, 0o700))
	must(t, os.Chmod(private, 0o700))
	must(t, os.Link(outside, file))
	if _, err := InitShared(dir, strconv.Itoa(os.Getegid())); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a private folder that was moved: %v, %v", info.Mode(), err)
	}
	must(t, os.Remove(file))
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("outside: %v, %v", info.Mode(), err)
	}
	session(t, dir, Options{}, hooks{}, func(c *Cache) {
		if info, err := c.Info(t.Context()); err != nil || !has(t, c, "a") || !info.Shared || info.Format != strings.TrimSpace(sharedLine) {
			t.Errorf("%+v, %v", info, err)
		}
	})
	for _, name := range []string{"no-such-group", "", "-1"} {
		if _, err := InitShared(dir, name); err == nil {
			t.Errorf("the group %q is accepted", name)
		}
	}
	must(t, os.Chmod(filepath.Join(dir, "pins"), 0o750))
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "cache init --shared") {
		t.Errorf("without the group's rights: %v", err)
	}
	other := t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "thesis"), nil, 0o600))
	if _, err := InitShared(other, strconv.Itoa(os.Getegid())); err == nil {
		t.Error("a folder with something else becomes a cache")
	}
	if info, err := os.Stat(other); err != nil || nolink.IsShared(info.Mode()) {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
}

// TestSharedWork: work folders, kept folders and unfinished ingests are one user's, the
// rest of a copy is the group's.
func TestSharedWork(t *testing.T) {
	dir := sharedCache(t)
	session(t, dir, Options{}, hooks{}, func(c *Cache) {
		work, err := c.TempDir("attempt")
		must(t, err)
		kept, release, err := c.Keep(t.Context(), "attempt")
		must(t, err)
		for _, path := range []string{filepath.Dir(work), kept} {
			if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeDir|0o700 {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
		if list, err := c.Kept(t.Context()); err != nil || len(list) != 1 || list[0].Dir != kept {
			t.Errorf("%v, %v", list, err)
		}
		must(t, release(false))
		s, err := c.Share(t.Context(), putTree(t, c, "data", 9), nil)
		must(t, err)
		must(t, filepath.WalkDir(filepath.Dir(s.Dir()), func(path string, d fs.DirEntry, err error) error {
			info, statErr := d.Info()
			if err = errors.Join(err, statErr); err == nil && d.IsDir() && !nolink.IsShared(info.Mode()) {
				t.Errorf("%s: %v", path, info.Mode())
			}
			return err
		}))
		must(t, s.Close())
	})
}
