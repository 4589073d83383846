package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
)

func links(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := statPath(path)
	must(t, err)
	return f.links
}

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.Stat(a)
	must(t, err)
	y, err := os.Stat(b)
	must(t, err)
	return os.SameFile(x, y)
}

func TestPlace(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	for i, content := range [][]byte{nil, []byte("text"), bytes.Repeat([]byte("long"), 100_000)} {
		ref, err := cache.PutBytes(t.Context(), c, content)
		must(t, err)
		for _, p := range []cache.Placement{
			{}, {Executable: true}, {Private: true}, {Private: true, Executable: true}, {Private: true, Writable: true}, {Writable: true, Executable: true},
		} {
			path := filepath.Join(t.TempDir(), "file")
			var copied int64
			p.Copied = func(n int64) { copied += n }
			how, err := c.Place(t.Context(), ref, path, p)
			must(t, err)
			if want := int64(len(content)); how == cache.Copied && copied != want || how != cache.Copied && copied != 0 {
				t.Errorf("content %d: %d of %d bytes are told, how %v", i, copied, want, how)
			}
			data, err := os.ReadFile(path)
			must(t, err)
			info, err := os.Stat(path)
			must(t, err)
			shared := !p.Private && !p.Writable
			if !bytes.Equal(data, content) || info.Mode() != p.FileMode() || (how == cache.Linked) != shared {
				t.Errorf("content %d, %+v: mode %v, how %v", i, p, info.Mode(), how)
			}
			if sameFile(t, path, c.objectPath(ref.ID, p.Executable && shared)) != shared {
				t.Errorf("content %d, %+v: shares the store's file: %v, want %v", i, p, !shared, shared)
			}
			if _, err := c.Place(t.Context(), ref, path, p); !errors.Is(err, os.ErrExist) {
				t.Errorf("Place on a file: %v, want os.ErrExist", err)
			}
		}
	}
	wantVerified(t, c)
	_, err := c.GC(t.Context(), GCOptions{})
	must(t, err)
	wantCounted(t, c)
}

func TestPlaceMissing(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putText(t, c, "text")
	must(t, os.Remove(c.objectPath(ref.ID, false)))
	for _, p := range []cache.Placement{{}, {Executable: true}, {Private: true}} {
		_, err := c.Place(t.Context(), ref, t.TempDir()+"/x", p)
		wantErr(t, err, cache.ErrNotFound)
	}
	ref = putText(t, c, "text")
	if _, err := c.Place(t.Context(), ref, t.TempDir()+"/no/folder/x", cache.Placement{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Place in a missing folder: %v", err)
	}
	if _, err := c.Place(t.Context(), cache.Ref{ID: ref.ID, Size: 5}, t.TempDir()+"/x", cache.Placement{}); !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("Place of a wrong size: %v", err)
	}
}

// A damaged object is never placed, whatever the way.
func TestPlaceDamaged(t *testing.T) {
	for name, damage := range damages {
		for _, p := range []cache.Placement{{}, {Executable: true}, {Private: true}} {
			t.Run(fmt.Sprintf("%s/%+v", name, p), func(t *testing.T) {
				c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
				ref := putText(t, c, "some text")
				record(t, c, "a", ref)
				overwrite(t, c.objectPath(ref.ID, false), damage)
				path := t.TempDir() + "/x"
				_, err := c.Place(t.Context(), ref, path, p)
				wantErr(t, err, cache.ErrCorrupt)
				if _, err := os.Lstat(path); err == nil {
					t.Error("a file was left behind")
				}
				if has(t, c, "a") {
					t.Error("the record is still there")
				}
			})
		}
	}
}

// A damaged twin is made again. A cache that is only read has the object itself.
func TestPlaceDamagedTwin(t *testing.T) {
	for name, damage := range damages {
		for _, readOnly := range []bool{false, true} {
			t.Run(fmt.Sprint(name, readOnly), func(t *testing.T) {
				dir := t.TempDir()
				c := openTest(t, dir, Options{}, hooks{unnamed: true})
				ref := putText(t, c, "some text")
				executable := cache.Placement{Executable: true}
				_, err := c.Place(t.Context(), ref, t.TempDir()+"/x", executable)
				must(t, err)
				overwrite(t, c.objectPath(ref.ID, true), damage)
				if readOnly {
					c = openTest(t, dir, Options{ReadOnly: true}, hooks{unnamed: true})
				}
				path := t.TempDir() + "/x"
				how, err := c.Place(t.Context(), ref, path, executable)
				must(t, err)
				data, err := os.ReadFile(path)
				if err != nil || string(data) != "some text" || (how == cache.Linked) == readOnly {
					t.Errorf("file holds %q, %v, made by %v", data, err, how)
				}
			})
		}
	}
}

// A umask does not change the modes of what is placed.
func TestPlaceUnderUmask(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putText(t, c, "text")
	for _, p := range []cache.Placement{{}, {Private: true}, {Private: true, Executable: true}, {Writable: true}} {
		path := filepath.Join(t.TempDir(), "file")
		_, err := c.Place(t.Context(), ref, path, p)
		must(t, err)
		if info, err := os.Stat(path); err != nil || info.Mode() != p.FileMode() {
			t.Errorf("%+v: mode %v, %v, want %v", p, info.Mode(), err, p.FileMode())
		}
	}
}

func TestPlaceFallsBack(t *testing.T) {
	for _, reason := range []error{unix.EXDEV, unix.EPERM, unix.EOPNOTSUPP} {
		h := hooks{unnamed: true, link: func(*os.File, string, string) error { return &os.LinkError{Op: "link", Err: reason} }}
		c := openTest(t, t.TempDir(), Options{}, h)
		ref := putTree(t, c, "x", 10)
		dst := t.TempDir() + "/out"
		res, err := tree.Materialise(t.Context(), c, ref, dst, tree.Options{})
		must(t, err)
		if res.Linked != 0 || res.Cloned+res.Copied != 10 {
			t.Errorf("%v: %+v", reason, res)
		}
		again, err := tree.Import(t.Context(), c, dst, tree.ImportOptions{})
		if err != nil || again != ref {
			t.Errorf("%v: the copy differs: %v", reason, err)
		}
		must(t, tree.Remove(dst))
	}
}

// Another file system: the memory file system of Linux.
func TestPlaceOnOtherFileSystem(t *testing.T) {
	dst, err := os.MkdirTemp("/dev/shm", "mleflow-test-")
	must(t, err)
	t.Cleanup(func() { must(t, tree.Remove(dst)) })
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putTree(t, c, "x", 10)
	res, err := tree.Materialise(t.Context(), c, ref, dst+"/out", tree.Options{})
	must(t, err)
	again, err := tree.Import(t.Context(), c, dst+"/out", tree.ImportOptions{})
	if err != nil || again != ref {
		t.Errorf("the copy differs: %v", err)
	}
	here, err := statPath(c.dir)
	must(t, err)
	there, err := statPath(dst)
	must(t, err)
	if here.device == there.device {
		t.Fatal("the test needs its temporary folder on another file system than /dev/shm")
	}
	if res.Files != 10 || res.Linked != 0 {
		t.Errorf("result %+v", res)
	}
}

// With a limit on links, the store continues with a fresh file.
func TestLinkLimit(t *testing.T) {
	h := hooks{unnamed: true, link: func(dir *os.File, name, to string) error {
		if f, err := statPath(dir.Name() + "/" + name); err == nil && f.links >= 5 {
			return &os.LinkError{Op: "link", Err: unix.EMLINK}
		}
		return linkIn(dir, name, to)
	}}
	for _, unnamed := range []bool{true, false} {
		h.unnamed = unnamed
		for _, executable := range []bool{false, true} {
			c := openTest(t, t.TempDir(), Options{}, h)
			ref := putText(t, c, "text")
			dir := t.TempDir()
			for i := range 30 {
				how, err := c.Place(t.Context(), ref, fmt.Sprintf("%s/%d", dir, i), cache.Placement{Executable: executable})
				if err != nil || how != cache.Linked {
					t.Fatalf("file %d: %v, %v", i, how, err)
				}
			}
			for i := range 30 {
				path := fmt.Sprintf("%s/%d", dir, i)
				data, err := os.ReadFile(path)
				if err != nil || string(data) != "text" || links(t, path) > 5 {
					t.Errorf("file %d holds %q with %d links, %v", i, data, links(t, path), err)
				}
			}
			must(t, c.checkUnmodified(t.Context(), ref))
			wantVerified(t, c)
			_, err := c.GC(t.Context(), GCOptions{})
			must(t, err)
			wantCounted(t, c)
		}
	}
}

// The real limit of this file system, if it has one below 70,000 (ext4 has
// 65,000).
func TestRealLinkLimit(t *testing.T) {
	t.Parallel()
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putText(t, c, "text")
	dir := t.TempDir()
	object := c.objectPath(ref.ID, false)
	limited := false
	for i := range 66_000 {
		if err := syscall.Link(object, fmt.Sprintf("%s/%d", dir, i)); err != nil {
			if !errors.Is(err, unix.EMLINK) {
				t.Fatal(err)
			}
			limited = true
			break
		}
	}
	before, err := statPath(object)
	must(t, err)
	for i := range 10 {
		how, err := c.Place(t.Context(), ref, fmt.Sprintf("%s/more%d", dir, i), cache.Placement{})
		if err != nil || how != cache.Linked {
			t.Fatalf("Place: %v, %v", how, err)
		}
	}
	after, err := statPath(object)
	must(t, err)
	if limited != (before.inode != after.inode) {
		t.Errorf("limit reached: %v, fresh file: %v", limited, before.inode != after.inode)
	}
	must(t, closure(t, c, ref))
}
