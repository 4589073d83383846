package publish

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
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

// A process that is killed at any moment leaves a path that the next one knows.
func TestKilled(t *testing.T) {
	ctx := context.Background()
	store := memory.New()
	one, two := folder(t, store, "one"), folder(t, store, "two")
	for _, c := range []struct {
		name string
		// leave makes what a process leaves that is killed while it replaces
		// one by two.
		leave func(t *testing.T, p *Places, path string)
	}{
		{"while the content is written", func(t *testing.T, _ *Places, path string) {
			stage := filepath.Join(filepath.Dir(path), ".out.mleflow")
			if err := os.MkdirAll(filepath.Join(stage, ".new.part-1", "root"), 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"before the exchange", func(t *testing.T, p *Places, path string) {
			save(t, p, record{Path: path, Written: []string{name(two), name(one)}})
		}},
		{"after the exchange", func(t *testing.T, p *Places, path string) {
			save(t, p, record{Path: path, Written: []string{name(two), name(one)}})
			if err := tree.Remove(path); err != nil {
				t.Fatal(err)
			}
			if _, err := tree.Materialise(ctx, store, two, path, tree.Options{Mode: tree.Copy, Writable: true}); err != nil {
				t.Fatal(err)
			}
		}},
		{"between two steps", func(t *testing.T, p *Places, path string) {
			save(t, p, record{Path: path, Written: []string{name(two), name(one)}})
			if err := os.Mkdir(filepath.Join(filepath.Dir(path), ".out.mleflow"), 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := movable(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path, filepath.Join(filepath.Dir(path), ".out.mleflow", "old")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		for _, link := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				p, path := Open(t.TempDir()), filepath.Join(t.TempDir(), "out")
				t.Cleanup(func() { _ = tree.Remove(path) }) // what is linked is read-only
				if _, err := p.Put(ctx, store, Target{Path: path, Ref: one, Link: link}); err != nil {
					t.Fatal(err)
				}
				c.leave(t, p, path)
				for _, ref := range []cache.Ref{two, one} {
					if _, err := p.Put(ctx, store, Target{Path: path, Ref: ref, Link: link}); err != nil {
						t.Fatal(err)
					}
					if have, err := identify(ctx, path); err != nil || have != name(ref) {
						t.Fatalf("%s is there, want %s (%v)", have, name(ref), err)
					}
				}
				if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
					t.Errorf("next to it are %v (%v)", list, err)
				}
			})
		}
	}
}

func save(t *testing.T, p *Places, rec record) {
	t.Helper()
	if err := p.save(rec); err != nil {
		t.Fatal(err)
	}
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

// Private content can be read by its owner only, and is known as such.
func TestPrivate(t *testing.T) {
	ctx := context.Background()
	store := memory.New()
	p, path := Open(t.TempDir()), filepath.Join(t.TempDir(), "deep", "out")
	if _, err := p.Put(ctx, store, Target{Path: path, Ref: folder(t, store, "one"), Private: true}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	if got := p.Private(); len(got) != 1 || got[0] != path {
		t.Errorf("private are %v", got)
	}
}

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
