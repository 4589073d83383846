package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/memory"
)

// stage is a path at which one content is to replace another, and what happens
// meanwhile.
type stage struct {
	places *Places
	store  cache.Cache
	path   string
	// moment is the number of changes so far. at is called before each.
	moment int
	at     func(moment int) error
}

// Place counts each file that is written as a change.
func (s *stage) Place(ctx context.Context, ref cache.Ref, path string, p cache.Placement) (cache.Placed, error) {
	if err := s.next(); err != nil {
		return 0, err
	}
	return s.store.Place(ctx, ref, path, p)
}

func (s *stage) next() error {
	s.moment++
	if s.at == nil {
		return nil
	}
	return s.at(s.moment)
}

func (s *stage) put(t *testing.T, target Target) (State, error) {
	t.Helper()
	target.Path, s.moment = s.path, 0
	return s.places.Put(t.Context(), struct {
		cache.Store
		cache.RandomStore
		cache.Placer
	}{s.store, s.store, s}, target)
}

// scene is a replacement: from nothing, if old is empty.
type scene struct {
	name             string
	old, new         Target
	inSteps, nothing bool
	// secrets are the texts that others must not read.
	secrets []string
}

func scenes(t *testing.T, store cache.Cache) (list []scene) {
	blob := func(text string) cache.Ref {
		ref, err := cache.PutBytes(t.Context(), store, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	tree := func(text string) cache.Ref { return folder(t, store, text) }
	for kind, make := range map[string]func(string) cache.Ref{"file": blob, "folder": tree} {
		one, two := make("one"), make("two")
		texts := map[cache.Ref]string{one: "one", two: "two"}
		for _, link := range []bool{false, true} {
			for _, inSteps := range []bool{false, true} {
				if link && inSteps {
					continue // no other moves
				}
				add := func(name string, old, new Target) {
					old.Link, new.Link = link, link
					var secrets []string
					for _, target := range []Target{old, new} {
						if target.Private && (old.Private == new.Private || old.Ref != new.Ref) {
							secrets = append(secrets, texts[target.Ref])
						}
					}
					list = append(list, scene{fmt.Sprintf("%s/%s/link=%v/steps=%v", kind, name, link, inSteps), old, new, inSteps, old.Ref.IsZero(), secrets})
				}
				add("first", Target{}, Target{Ref: two})
				add("first private", Target{}, Target{Ref: two, Private: true})
				add("public", Target{Ref: one}, Target{Ref: two})
				add("private", Target{Ref: one, Private: true}, Target{Ref: two, Private: true})
				add("to private", Target{Ref: one}, Target{Ref: two, Private: true})
				add("to public", Target{Ref: one, Private: true}, Target{Ref: two})
				add("same to private", Target{Ref: two}, Target{Ref: two, Private: true})
				add("same to public", Target{Ref: two, Private: true}, Target{Ref: two})
			}
		}
	}
	return list
}

// begin returns a stage with the old content at the path.
func (s scene) begin(t *testing.T, store cache.Cache) *stage {
	t.Helper()
	dir := t.TempDir()
	st := &stage{places: Open(filepath.Join(dir, "cache")), store: store, path: filepath.Join(dir, "there", "out")}
	st.places.inSteps, st.places.unsynced, st.places.before = s.inSteps, true, st.next
	t.Cleanup(func() { unlock(dir) })
	if !s.nothing {
		if _, err := st.put(t, s.old); err != nil {
			t.Fatal(err)
		}
	}
	return st
}

// unlock lets the folders of linked content be removed.
func unlock(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o755) //nolint:gosec // a test's
		}
		return err
	})
}

// modeOf returns the permissions of published content.
func modeOf(target Target) fs.FileMode {
	how := cache.Placement{Writable: !target.Link, Executable: target.Ref.Kind == cache.Tree, OwnerOnly: target.Private}
	return how.FileMode()
}

// check fails unless the path has one of the contents with its mode.
func (st *stage) check(t *testing.T, want ...Target) {
	t.Helper()
	have, err := identify(t.Context(), st.path)
	info, statErr := os.Lstat(st.path)
	if errors.Is(err, errNothing) {
		if !slices.ContainsFunc(want, func(t Target) bool { return t.Ref.IsZero() }) {
			t.Fatal("nothing is at the path")
		}
		return
	}
	if err := errors.Join(err, statErr); err != nil {
		t.Fatal(err)
	}
	for _, target := range want {
		if have == name(target.Ref) && info.Mode().Perm() == modeOf(target) {
			return
		}
	}
	t.Fatalf("%s with mode %v is at the path", have, info.Mode())
}

// private fails if others can read a file with private content.
func (st *stage) private(t *testing.T, s scene) {
	t.Helper()
	var closed []string
	err := filepath.WalkDir(filepath.Dir(st.path), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignore(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignore(err)
		}
		if d.IsDir() && info.Mode().Perm()&0o077 == 0 {
			closed = append(closed, path+"/")
		}
		if d.IsDir() || info.Mode().Perm()&0o077 == 0 || slices.ContainsFunc(closed, func(dir string) bool { return strings.HasPrefix(path, dir) }) {
			return nil
		}
		text, err := os.ReadFile(path)
		if slices.Contains(s.secrets, string(text)) {
			t.Errorf("at moment %d others can read %s: %q, %v", st.moment, path, text, info.Mode())
		}
		return ignore(err)
	})
	if ignore(err) != nil {
		t.Error(err)
	}
}

func ignore(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// A change that fails, or a process that is killed, at any moment leaves a path with the
// old or the new content in its mode; others can read private content at no moment; and
// the next call repairs it.
func TestEveryMoment(t *testing.T) {
	store, failure := memory.New(), errors.New("failure")
	for _, s := range scenes(t, store) {
		for _, kill := range []bool{false, true} {
			for moment, more := 1, true; more && !t.Failed(); moment++ {
				for _, again := range []Target{s.new, s.old} {
					t.Run(fmt.Sprintf("%s/kill=%v/%d", s.name, kill, moment), func(t *testing.T) {
						st := s.begin(t, store)
						st.at = func(now int) error {
							st.private(t, s)
							if now == moment || kill && now > moment {
								return failure
							}
							return nil
						}
						_, err := st.put(t, s.new)
						if more = err != nil; more && !errors.Is(err, failure) {
							t.Fatal(err)
						}
						st.private(t, s)
						st.at = nil
						if s.inSteps {
							st.check(t, s.old, s.new, Target{})
						} else {
							st.check(t, s.old, s.new)
						}
						if again.Ref.IsZero() {
							return
						}
						if _, err := st.put(t, again); err != nil {
							t.Fatal(err)
						}
						st.check(t, again)
						if list, err := os.ReadDir(filepath.Dir(st.path)); err != nil || len(list) != 1 {
							t.Errorf("next to it are %v (%v)", list, err)
						}
						if private := st.places.Private(); (len(private) == 1) != again.Private {
							t.Errorf("private are %q", private)
						}
					})
				}
			}
		}
	}
}

// edits are ways in which a person changes what is at a path.
var edits = map[string]func(path string) error{
	"in place": func(path string) error {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			return errors.Join(os.Chmod(path, 0o700), os.WriteFile(filepath.Join(path, "mine"), []byte("mine"), 0o600)) //nolint:gosec // a folder
		}
		_ = os.Chmod(path, 0o600)
		return os.WriteFile(path, []byte("mine"), 0o600)
	},
	"another file": func(path string) error {
		if err := os.WriteFile(path+".new", []byte("mine"), 0o600); err != nil {
			return err
		}
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			unlock(path)
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
		return os.Rename(path+".new", path)
	},
}

// hasEdit reports whether a path has a person's edit.
func hasEdit(path string) bool {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "mine")
	}
	text, err := os.ReadFile(path)
	return err == nil && string(text) == "mine"
}

// A person's edit at any moment stays at the path, in this call and in the next, and a
// call that it stops says so.
func TestEditsAreKept(t *testing.T) {
	store, failure := memory.New(), errors.New("failure")
	for _, s := range scenes(t, store) {
		if s.new.Link {
			continue // which moves in the same way
		}
		for how, edit := range edits {
			for _, kill := range []int{0, 1, 3} { // that many changes later
				for moment, more := 1, true; more && !t.Failed(); moment++ {
					t.Run(fmt.Sprintf("%s/%s/kill=%d/%d", s.name, how, kill, moment), func(t *testing.T) {
						st := s.begin(t, store)
						edited := false
						st.at = func(now int) error {
							if now == moment {
								edited = true
								_ = os.Mkdir(filepath.Dir(st.path), 0o755) //nolint:gosec // a test's
								if err := edit(st.path); err != nil {
									t.Fatal(err)
								}
							}
							if kill > 0 && now >= moment+kill {
								return failure
							}
							return nil
						}
						_, err := st.put(t, s.new)
						var foreign *ForeignError
						if more = edited; !edited {
							return
						}
						if !hasEdit(st.path) && !errors.Is(err, failure) || err != nil && !errors.Is(err, failure) && !errors.As(err, &foreign) {
							t.Errorf("after %v the path has no edit", err)
						}
						st.at = nil
						if state, err := st.put(t, s.new); !errors.As(err, &foreign) || state != Foreign || !hasEdit(st.path) {
							t.Errorf("then %s, %v; it must refuse and keep the edit", state, err)
						}
					})
				}
			}
		}
	}
}

// What a person writes into a file that was open all the while is kept.
func TestOpenFile(t *testing.T) {
	store := memory.New()
	for _, s := range scenes(t, store) {
		if s.nothing || s.old.Ref.Kind == cache.Tree || s.old.Link {
			continue
		}
		for moment := 1; moment <= 8; moment++ {
			st := s.begin(t, store)
			f, err := os.OpenFile(st.path, os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(map[bool]string{true: "two", false: "one"}[s.old.Ref == s.new.Ref]); err != nil {
				t.Fatal(err)
			}
			there := false
			st.at = func(now int) error {
				if now == moment {
					mine, _ := f.Stat()
					named, _ := os.Lstat(st.path)
					there = os.SameFile(mine, named)
					_, err = f.WriteString(" and mine")
				}
				return err
			}
			_, putErr := st.put(t, s.new)
			text, err := os.ReadFile(st.path)
			var foreign *ForeignError
			if kept := strings.HasSuffix(string(text), " and mine"); err != nil || there && (!kept || !errors.As(putErr, &foreign)) {
				t.Errorf("%s, moment %d of %d: %q, %v, %v", s.name, moment, st.moment, text, putErr, err)
			}
			f.Close()
		}
	}
}
