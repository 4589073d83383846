package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
)

// dataFolder is where a user has its links.
func dataFolder(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "data")
	t.Cleanup(func() { _ = tree.Remove(dir) })
	return dir
}

// linkTree makes a folder of links.
func linkTree(t testing.TB, c *Cache, ref cache.Ref) string {
	t.Helper()
	dir := dataFolder(t)
	res, err := tree.Materialise(t.Context(), c, ref, dir, tree.Options{Mode: tree.Link})
	must(t, err)
	if res.Linked != ref.Files {
		t.Fatalf("%d of %d files are links", res.Linked, ref.Files)
	}
	return dir
}

// takeLinks takes a folder, and fails unless it is what tree.Materialise makes.
func takeLinks(t testing.TB, c *Cache, ref cache.Ref) (dir string, taken bool) {
	t.Helper()
	dir = dataFolder(t)
	taken, _, err := c.TakeLinks(t.Context(), ref, dir)
	must(t, err)
	if !taken {
		if _, err := os.Lstat(dir); err == nil {
			t.Error("a folder that was not given out is there")
		}
		return dir, false
	}
	wantLinks(t, c, ref, dir)
	return dir, true
}

func wantLinks(t testing.TB, c *Cache, ref cache.Ref, dir string) {
	t.Helper()
	if what, err := tree.Compare(t.Context(), c, ref, dir); what != "" || err != nil {
		t.Errorf("the folder differs: %s, %v", what, err)
	}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if info, statErr := os.Lstat(path); err == nil && statErr == nil && info.Mode().Perm()&0o222 != 0 {
			t.Errorf("%s may be written to: %v", path, info.Mode())
		}
		return err
	}))
}

func wantKept(t testing.TB, c *Cache, want int) {
	t.Helper()
	list, err := names(c.path(linksName))
	must(t, err)
	if len(list) != want {
		t.Errorf("%d folders are kept, want %d: %q", len(list), want, list)
	}
	info, err := c.Info(t.Context())
	must(t, err)
	if info.LinkFolders != want {
		t.Errorf("%d folders are listed, want %d", info.LinkFolders, want)
	}
}

// What one user leaves the next one takes, without a link being made.
func TestLinks(t *testing.T) {
	for name, h := range testHooks {
		t.Run(name, func(t *testing.T) {
			var made atomic.Int64
			h.link = func(dir *os.File, name, to string) error {
				made.Add(1)
				return linkIn(dir, name, to)
			}
			c := openTest(t, t.TempDir(), Options{}, h)
			ref, other := putTree(t, c, "x", 20), putTree(t, c, "y", 20)
			dir := linkTree(t, c, ref)
			before, err := os.Stat(dir)
			must(t, err)
			for range 3 {
				must(t, c.KeepLinks(ref, dir))
				wantKept(t, c, 1)
				if _, taken := takeLinks(t, c, other); taken {
					t.Fatal("the links of one tree were given out for another")
				}
				made.Store(0)
				var taken bool
				dir, taken = takeLinks(t, c, ref)
				after, err := os.Stat(dir)
				if !taken || err != nil || !os.SameFile(before, after) || made.Load() != 0 {
					t.Fatalf("taken: %v, %v; the same folder: %v; links made: %d", taken, err, os.SameFile(before, after), made.Load())
				}
				wantKept(t, c, 0)
			}
			wantVerified(t, c)
		})
	}
}

// A folder has one user, however many want it at the same time.
func TestLinksInUse(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putTree(t, c, "x", 20)
	const kept, users = 3, 8
	for range kept {
		must(t, c.KeepLinks(ref, linkTree(t, c, ref)))
	}
	var taken atomic.Int64
	var all sync.WaitGroup
	for range users {
		dir := dataFolder(t)
		all.Go(func() {
			given, _, err := c.TakeLinks(t.Context(), ref, dir)
			if err != nil {
				t.Error(err)
			}
			if given {
				taken.Add(1)
				wantLinks(t, c, ref, dir)
			}
		})
	}
	all.Wait()
	if n := taken.Load(); n != kept {
		t.Errorf("%d of %d folders were given out", n, kept)
	}
	for range linksOfTree + 3 {
		must(t, c.KeepLinks(ref, linkTree(t, c, ref)))
	}
	wantKept(t, c, linksOfTree)
}

// A folder that is not what would be made now is thrown away, also if this process has
// just made it. Then objects are looked at again after seenFor.
func TestLinksStale(t *testing.T) {
	// d1/f1 is a plain file, d2/f5 an executable one.
	for name, change := range map[string]func(t *testing.T, c *Cache, dir string, plain, twin string){
		"object written to": func(t *testing.T, _ *Cache, _, plain, _ string) { spoil(t, plain) },
		"object replaced":   func(t *testing.T, _ *Cache, _, plain, _ string) { replace(t, plain) },
		"object touched":    func(t *testing.T, _ *Cache, _, _, twin string) { must(t, os.Chtimes(twin, time.Now(), time.Now())) },
		"object removed":    func(t *testing.T, _ *Cache, _, plain, _ string) { must(t, os.Remove(plain)) },
		"twin written to":   func(t *testing.T, _ *Cache, _, _, twin string) { spoil(t, twin) },
		"twin replaced":     func(t *testing.T, _ *Cache, _, _, twin string) { replace(t, twin) },
		"twin removed":      func(t *testing.T, _ *Cache, _, _, twin string) { must(t, os.Remove(twin)) },
		"file added":        func(t *testing.T, _ *Cache, dir, _, _ string) { must(t, os.WriteFile(dir+"/d0/new", nil, 0o644)) },
		"file removed":      func(t *testing.T, _ *Cache, dir, _, _ string) { must(t, os.Remove(dir+"/d1/f1")) },
		"file copied":       func(t *testing.T, _ *Cache, dir, _, _ string) { replace(t, dir+"/d1/f1") },
		"files swapped": func(t *testing.T, _ *Cache, dir, _, _ string) {
			must(t, os.Rename(dir+"/d1/f1", dir+"/d1/f"))
			must(t, os.Rename(dir+"/d1/f4", dir+"/d1/f1"))
			must(t, os.Rename(dir+"/d1/f", dir+"/d1/f4"))
		},
		"link in place of a file": func(t *testing.T, _ *Cache, dir, plain, _ string) {
			must(t, os.Remove(dir+"/d1/f1"))
			must(t, os.Symlink(plain, dir+"/d1/f1"))
		},
		"link in place of a folder": func(t *testing.T, _ *Cache, dir, _, _ string) {
			elsewhere := filepath.Dir(dir) + "/elsewhere"
			must(t, os.Rename(dir+"/d1", elsewhere))
			must(t, os.Symlink(elsewhere, dir+"/d1"))
		},
		"folder added":   func(t *testing.T, _ *Cache, dir, _, _ string) { must(t, os.Mkdir(dir+"/new", 0o755)) },
		"folder removed": func(t *testing.T, _ *Cache, dir, _, _ string) { must(t, tree.Remove(dir+"/d2")) },
	} {
		stale := func(t *testing.T, seen bool) {
			clk := &clock{}
			c := openTest(t, t.TempDir(), Options{}, clk.hooks())
			ref := putTree(t, c, "x", 9)
			dir := dataFolder(t)
			_, made, err := c.TakeLinks(t.Context(), ref, dir)
			must(t, err)
			res, err := tree.Materialise(t.Context(), c, ref, dir, tree.Options{Mode: tree.Link})
			must(t, err)
			plain, err := tree.Find(t.Context(), c, ref, "d1/f1")
			must(t, err)
			twin, err := tree.Find(t.Context(), c, ref, "d2/f5")
			must(t, err)
			if plain.Type != tree.File || twin.Type != tree.Executable {
				t.Fatalf("%+v, %+v", plain, twin)
			}
			for _, at := range append(res.Folders, "") {
				must(t, os.Chmod(dir+at, 0o755))
			}
			if seen {
				made(res.Folders)
			}
			awaitTick(t, dir)
			change(t, c, dir, c.objectPath(plain.ID, false), c.objectPath(twin.ID, true))
			must(t, c.KeepLinks(ref, dir))
			wantKept(t, c, 1)
			if folder := !strings.HasPrefix(name, "object") && !strings.HasPrefix(name, "twin"); seen && !folder {
				used := dataFolder(t)
				if taken, _, err := c.TakeLinks(t.Context(), ref, used); !taken || err != nil {
					t.Errorf("the folder was checked again at once: %v", err)
				}
				must(t, c.KeepLinks(ref, used))
				clk.seconds.Add(int64(seenFor/time.Second) + 1)
			}
			if _, taken := takeLinks(t, c, ref); taken {
				t.Error("it was given out")
			}
			wantKept(t, c, 0)
		}
		t.Run(name, func(t *testing.T) { stale(t, false) })
		t.Run(name+", seen", func(t *testing.T) { stale(t, true) })
	}
}

// awaitTick waits until a change of a folder would have another time than its last one.
func awaitTick(t *testing.T, dir string) {
	t.Helper()
	last, err := stampOf(dir)
	must(t, err)
	probe := filepath.Join(t.TempDir(), "probe")
	for range 10_000 {
		must(t, os.WriteFile(probe, nil, 0o600))
		now, err := stampOf(probe)
		must(t, err)
		must(t, os.Remove(probe))
		if now.changed != last.changed {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the clock of the file system stands still")
}

// Once an object was set aside, no folder with it is given out, however recently it was
// seen.
func TestLinksSeenQuarantine(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putTree(t, c, "x", 9)
	must(t, c.KeepLinks(ref, linkTree(t, c, ref)))
	dir, taken := takeLinks(t, c, ref)
	if !taken {
		t.Fatal("nothing was kept")
	}
	must(t, c.KeepLinks(ref, dir))
	awaitTick(t, c.path(quarantineName))
	plain, err := tree.Find(t.Context(), c, ref, "d1/f1")
	must(t, err)
	spoil(t, c.objectPath(plain.ID, false))
	r, err := c.Open(t.Context(), plain.ID)
	must(t, err)
	_, err = io.Copy(io.Discard, r)
	wantErr(t, errors.Join(err, r.Close()), cache.ErrCorrupt)
	putTree(t, c, "x", 9)
	if _, taken := takeLinks(t, c, ref); taken {
		t.Error("a folder with a damaged file was given out")
	}
}

// replace puts an equal file in the place of one.
func replace(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path+".new", data, 0o644))
	must(t, os.Chmod(path+".new", info.Mode()))
	must(t, os.Chtimes(path+".new", info.ModTime(), info.ModTime()))
	must(t, os.Rename(path+".new", path))
}

// A collection drops what is kept, so that removing an object frees its space, and
// leaves what is in use.
func TestLinksCollected(t *testing.T) {
	clk := &clock{}
	dir := t.TempDir()
	var ref, other cache.Ref
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		ref, other = putTree(t, c, "x", 9), putTree(t, c, "y", 9)
		record(t, c, "x", ref)
		must(t, c.KeepLinks(ref, linkTree(t, c, ref)))
		must(t, c.KeepLinks(other, linkTree(t, c, other)))
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		dry, err := c.GC(t.Context(), GCOptions{DryRun: true})
		must(t, err)
		wantKept(t, c, 2)
		used, taken := takeLinks(t, c, ref)
		if !taken {
			t.Fatal("nothing was kept")
		}
		res, err := c.GC(t.Context(), GCOptions{})
		must(t, err)
		// The executable files count twice.
		if res.DiskBytes != res.Bytes || res.Bytes != dry.Bytes || res.Bytes <= other.Size {
			t.Errorf("of %d bytes %d were freed on disk, and %d in the dry run", res.Bytes, res.DiskBytes, dry.Bytes)
		}
		wantKept(t, c, 0)
		if _, taken := takeLinks(t, c, other); taken {
			t.Error("the links to removed objects were given out")
		}
		wantLinks(t, c, ref, used)
		must(t, c.KeepLinks(ref, used))
		if _, taken := takeLinks(t, c, ref); !taken {
			t.Error("the links that were in use during the collection were not given out")
		}
		wantCounted(t, c)
	})
}

// What nobody used for a long time is dropped when somebody else keeps links.
func TestLinksUnused(t *testing.T) {
	clk := &clock{}
	c := openTest(t, t.TempDir(), Options{}, clk.hooks())
	old, recent, last := putTree(t, c, "x", 9), putTree(t, c, "y", 9), putTree(t, c, "z", 9)
	must(t, c.KeepLinks(old, linkTree(t, c, old)))
	clk.seconds.Add(int64(linksFor/time.Second) - 1)
	must(t, c.KeepLinks(recent, linkTree(t, c, recent)))
	wantKept(t, c, 2)
	clk.seconds.Add(1)
	must(t, c.KeepLinks(last, linkTree(t, c, last)))
	wantKept(t, c, 2)
	if _, taken := takeLinks(t, c, old); taken {
		t.Error("the oldest was given out")
	}
	if list, err := names(c.path(tmpName, c.leases.lease.id)); err == nil && len(list) != 0 {
		t.Errorf("left: %q", list)
	}
}

// Links to objects that were removed while somebody used them are not given out.
func TestLinksRemovedInUse(t *testing.T) {
	clk := &clock{}
	dir := t.TempDir()
	var ref cache.Ref
	var used string
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		ref = putTree(t, c, "x", 9)
		used = linkTree(t, c, ref)
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		_, err := c.GC(t.Context(), GCOptions{})
		must(t, err)
		must(t, c.KeepLinks(ref, used))
		putTree(t, c, "x", 9) // the same content in other files
		if _, taken := takeLinks(t, c, ref); taken {
			t.Error("they were given out")
		}
		wantKept(t, c, 0)
	})
}

// A cache that is open for reading neither gives nor takes, and is no error.
func TestLinksReadOnly(t *testing.T) {
	dir := t.TempDir()
	var ref cache.Ref
	session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) {
		ref = putTree(t, c, "x", 9)
		record(t, c, "x", ref)
		must(t, c.KeepLinks(ref, linkTree(t, c, ref)))
	})
	c := openTest(t, dir, Options{ReadOnly: true}, hooks{unnamed: true})
	if _, taken := takeLinks(t, c, ref); taken {
		t.Error("a folder was taken")
	}
	own := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(own, 0o755))
	must(t, c.KeepLinks(ref, own))
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
	wantKept(t, c, 1)
}

// anotherVariable has the folder of a cache for TestLinksOfAnotherUser.
const anotherVariable = "MLEFLOW_TEST_CACHE_ANOTHER"

// What one user keeps another leaves alone.
func TestLinksOfAnotherUser(t *testing.T) {
	if dir := os.Getenv(anotherVariable); dir != "" {
		c := openTest(t, dir, Options{}, hooks{unnamed: true})
		if c.readOnly {
			t.Fatal("the cache is open for reading only")
		}
		ref := putTree(t, c, "x", 9)
		if _, taken := takeLinks(t, c, ref); taken {
			t.Error("the other user's links were taken")
		}
		own := linkTree(t, c, ref)
		must(t, c.KeepLinks(ref, own))
		if unix.Access(c.path(linksName), unix.W_OK) == nil {
			wantKept(t, c, 2)
			must(t, c.linkFolders.dropLinks(0))
		} else if _, err := os.Stat(own); err != nil {
			t.Error(err)
		}
		wantKept(t, c, 1)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			above := t.TempDir()
			dir := filepath.Join(above, "cache")
			must(t, os.Mkdir(dir, 0o700))
			session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) {
				ref := putTree(t, c, "x", 9)
				must(t, c.KeepLinks(ref, linkTree(t, c, ref)))
			})
			must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
				if name := filepath.Base(path); name == linksName && !shared || filepath.Base(filepath.Dir(path)) == linksName {
					return fs.SkipDir
				}
				return os.Lchown(path, 65534, 65534)
			}))
			for ; above != os.TempDir() && above != "/"; above = filepath.Dir(above) {
				must(t, os.Chmod(above, 0o777))
			}
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestLinksOfAnotherUser$")
			cmd.Dir, cmd.Env = "/", []string{anotherVariable + "=" + dir, "TMPDIR=" + filepath.Dir(dir)}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}
