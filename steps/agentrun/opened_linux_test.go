package agentrun

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOpenWatch opens some files of two folders while they are watched.
func TestOpenWatch(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.csv", "b.csv", "sub/c.png", "sub/d.png"} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := newOpenWatch()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".", "sub"} {
		if err := w.add(filepath.Join(dir, name), name); err != nil {
			t.Fatal(err)
		}
	}
	seen := w.run()
	for _, name := range []string{"a.csv", "sub/d.png", "a.csv"} {
		if _, err := os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := seen(); len(got) != 2 || !got["a.csv"] || !got["sub/d.png"] {
		t.Errorf("got %v", got)
	}
}
