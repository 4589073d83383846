package source

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
)

func fingerprintOf(t *testing.T, f file, dir string) digest.ActionID {
	t.Helper()
	h := digest.NewHasher("test", "1")
	if err := f.Fingerprint(Spec{Path: dir}, h); err != nil {
		t.Fatal(err)
	}
	return h.Sum()
}

// What is remembered of a folder gives the fingerprint that reading it gives,
// whatever happens to it.
func TestRemembered(t *testing.T) {
	dir, memo := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a/x.txt", "one")
	write("a-b.txt", "two")
	write("c.txt", "three")
	old := time.Now().Add(-time.Hour)
	settle := func() { // times of change cannot be set, so the clock is
		t.Helper()
		if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error { return os.Chtimes(path, old, old) }); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	check := func(step string, changes bool, last *digest.ActionID) {
		t.Helper()
		want := fingerprintOf(t, file{}, dir)
		for range 2 {
			if got := fingerprintOf(t, file{memo}, dir); got != want {
				t.Fatalf("%s: %v remembered, %v read", step, got, want)
			}
		}
		if (want != *last) != changes {
			t.Errorf("%s: changed %v, want %v", step, want != *last, changes)
		}
		*last = want
	}
	var last digest.ActionID
	check("at first", true, &last)
	// Same size, same time of modification: only the time of change tells.
	write("c.txt", "THREE")
	settle()
	check("another content of the same size and time", true, &last)
	if err := os.Rename(filepath.Join(dir, "c.txt"), filepath.Join(dir, "d.txt")); err != nil {
		t.Fatal(err)
	}
	check("another name", true, &last)
	write("e.txt", "")
	check("another file", true, &last)
	check("nothing", false, &last)
}

// A place is remembered once its files are older than the clock is coarse, and
// what is remembered is used.
func TestRacy(t *testing.T) {
	dir, memo := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	at, err := locate(Spec{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	files, err := at.list()
	if err != nil {
		t.Fatal(err)
	}
	if m := newRecollection(memo, at, files, time.Now()); m != nil {
		t.Error("a file that changed just now is remembered")
	}
	m := newRecollection(memo, at, files, time.Now().Add(time.Minute))
	if m == nil {
		t.Fatal("a file that changed a minute ago is not remembered")
	}
	m.note(digest.Of([]byte("sum")))
	if sum, ok := m.recall(); !ok || sum != digest.Of([]byte("sum")) {
		t.Errorf("recalled %v, %v", sum, ok)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	if files, err = at.list(); err != nil {
		t.Fatal(err)
	}
	if _, ok := newRecollection(memo, at, files, time.Now().Add(time.Minute)).recall(); ok {
		t.Error("a file that changed is taken for the old one")
	}
}
