package prep

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// TestDirFS opens what os.DirFS opens, with its errors.
func TestDirFS(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "train"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "train", "1.tif"), []byte("pixels"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(DirFS(dir), "train/1.tif"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"none", "../" + filepath.Base(dir) + "/train/1.tif", "/train", "train/", ""} {
		_, err := DirFS(dir).Open(name)
		if _, want := os.DirFS(dir).Open(name); err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("open %q: %v, want %v", name, err, want)
		}
	}
}

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
	if info, err := os.Stat(f.partial); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("until then others can enter it: %v, %v", info.Mode(), err)
	}
	if err := f.Publish(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o755, "public": 0o755, "private": 0o700} {
		info, err := os.Stat(filepath.Join(final, name))
		if err != nil || info.Mode().Perm()&^0o022 != want {
			t.Errorf("%s has mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}
