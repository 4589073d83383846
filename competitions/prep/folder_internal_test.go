package prep

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPrivateIsClosed publishes answers that other users cannot list or open.
func TestPrivateIsClosed(t *testing.T) {
	final := filepath.Join(t.TempDir(), "prepared")
	f, err := NewFolder(final)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"public/train.csv", "private/test.csv"} {
		out, err := f.create(name)
		if err != nil {
			t.Fatal(err)
		}
		out.Close()
	}
	if err := f.Publish(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"public": 0o755, "private": 0o700} {
		info, err := os.Stat(filepath.Join(final, name))
		if err != nil || info.Mode().Perm()&^0o022 != want {
			t.Errorf("%s has mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}
