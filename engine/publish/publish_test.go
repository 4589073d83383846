package publish

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
)

func folder(t *testing.T, store cache.Cache, text string) cache.Ref {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "sub/b.txt"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ref, err := tree.Import(context.Background(), store, dir, tree.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// Nothing is replaced that was not published, or was changed since.
func TestForeign(t *testing.T) {
	ctx := context.Background()
	store := memory.New()
	one, two := folder(t, store, "one"), folder(t, store, "two")
	for name, make := range map[string]func(path string) error{
		"file": func(path string) error { return os.WriteFile(path, []byte("mine"), 0o644) },
		"folder": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, "mine"), nil, 0o644))
		},
		"link":    func(path string) error { return os.Symlink(os.TempDir(), path) },
		"dangles": func(path string) error { return os.Symlink("nowhere", path) },
		"same, but not published": func(path string) error {
			_, err := tree.Materialise(ctx, store, one, path, tree.Options{Mode: tree.Copy, Writable: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, path := Open(t.TempDir()), filepath.Join(t.TempDir(), "out")
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			var foreign *ForeignError
			if _, err := p.Put(ctx, store, Target{Path: path, Ref: two}); !errors.As(err, &foreign) {
				t.Errorf("got %v, want a ForeignError", err)
			}
		})
	}
	for name, change := range map[string]func(path string) error{
		"edited":  func(path string) error { return os.WriteFile(filepath.Join(path, "a.txt"), []byte("own"), 0o644) },
		"added":   func(path string) error { return os.WriteFile(filepath.Join(path, "note"), nil, 0o644) },
		"removed": func(path string) error { return os.Remove(filepath.Join(path, "a.txt")) },
		"linked":  func(path string) error { return os.Symlink("/etc", filepath.Join(path, "etc")) },
	} {
		t.Run(name, func(t *testing.T) {
			p, path := Open(t.TempDir()), filepath.Join(t.TempDir(), "out")
			if _, err := p.Put(ctx, store, Target{Path: path, Ref: one}); err != nil {
				t.Fatal(err)
			}
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			var foreign *ForeignError
			if state, err := p.Put(ctx, store, Target{Path: path, Ref: two}); !errors.As(err, &foreign) || state != Foreign {
				t.Errorf("got %s, %v, want a ForeignError", state, err)
			}
		})
	}
}

// Content that is at the path already, from whomever, gets the form that is asked for:
// private or not, linked or not. A link's mode is the cache's, so a private file is none.
func TestSameContent(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	store, err := disk.Open(filepath.Join(dir, "cache"), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ref, err := cache.PutBytes(ctx, store, []byte("answers"))
	if err != nil {
		t.Fatal(err)
	}
	p, path := Open(filepath.Join(dir, "cache")), filepath.Join(dir, "out")
	if err := os.WriteFile(path, []byte("answers"), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		link, private bool
		state         State
		mode          fs.FileMode
	}{
		{false, false, Same, 0o640}, // somebody's file
		{false, true, Changed, 0o600},
		{true, true, Changed, 0o400},
		{true, false, Changed, 0o444},
		{true, false, Same, 0o444},
		{true, true, Changed, 0o400},
		{false, false, Changed, 0o644},
	} {
		target := Target{Path: path, Ref: ref, Link: c.link, Private: c.private}
		looked, err := p.Look(ctx, target)
		state, putErr := p.Put(ctx, store, target)
		if err := errors.Join(err, putErr); err != nil || state != c.state || looked != state {
			t.Errorf("%+v: %s, %s, %v", c, looked, state, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != c.mode || (nlink(info) > 1) != (c.mode == 0o444) {
			t.Errorf("%+v: %v, %v", c, info.Mode(), err)
		}
		if got := p.Private(); (len(got) == 1) != c.private {
			t.Errorf("%+v: private are %v", c, got)
		}
	}
}

func nlink(info fs.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Nlink) } //nolint:unconvert // 16 bits on some systems

// A path below a base does not leave it by a link, and none leads into the cache.
func TestBounds(t *testing.T) {
	ctx := context.Background()
	store := memory.New()
	home, base, other := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.Symlink(other, filepath.Join(base, "out")); err != nil {
		t.Fatal(err)
	}
	ref := folder(t, store, "one")
	for path, want := range map[string]string{
		filepath.Join(base, "out", "x"):      "by a symbolic link",
		filepath.Join(base, "out", "x", "y"): "by a symbolic link",
		filepath.Join(home, "objects", "x"):  "is inside the cache",
		filepath.Dir(home):                   "is inside the cache or contains it",
	} {
		_, err := Open(home).Put(ctx, store, Target{Path: path, Base: base, Ref: ref})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	if list, _ := os.ReadDir(other); len(list) > 0 {
		t.Errorf("outside are %v", list)
	}
}

// All that is written is counted, and what is there already is not.
func TestWork(t *testing.T) {
	store := memory.New()
	ref := folder(t, store, "text")
	p := Open(t.TempDir())
	var got []progress.State
	work := &progress.Work{Ended: func(s progress.State) { got = append(got, s) }}
	target := Target{Path: filepath.Join(t.TempDir(), "out"), Ref: ref, Work: work}
	for range 2 {
		if _, err := p.Put(t.Context(), store, target); err != nil {
			t.Fatal(err)
		}
	}
	work.Begin("", 0, 0)
	want := progress.State{What: "writing", Files: 2, TotalFiles: 2, Bytes: ref.Size, TotalBytes: ref.Size}
	if len(got) != 1 || got[0] != want || ref.Size != 8 {
		t.Errorf("%+v of %+v, want %+v", got, ref, want)
	}
}
