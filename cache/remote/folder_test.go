package remote

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolderModes sees that what is written below a folder gets the folder's permissions,
// and that a new folder is its user's alone.
func TestFolderModes(t *testing.T) {
	for _, mode := range []fs.FileMode{0, 0o700, 0o755, 0o775, fs.ModeSetgid | 0o770} {
		dir := filepath.Join(t.TempDir(), "cache")
		if mode == 0 { // mleflow makes it
			mode = 0o700
		} else if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		} else if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		store, err := openFolder(dir, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a/b/one", "a/b/two", "a/three"} {
			if err := store.write(context.Background(), key, 4, true, strings.NewReader("text")); err != nil {
				t.Fatal(err)
			}
		}
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			want := mode | fs.ModeDir
			if !d.IsDir() {
				want = mode & 0o666
			}
			if info.Mode() != want {
				t.Errorf("in a folder of %v, %s has %v, want %v", mode, path, info.Mode(), want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestFolderOfAll: a folder to which every user may write is told of, others are not.
func TestFolderOfAll(t *testing.T) {
	dir := t.TempDir()
	for mode, want := range map[fs.FileMode]int{0o700: 0, fs.ModeSetgid | 0o770: 0, 0o777: 1} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		m := newMachine(t, "file://"+filepath.ToSlash(dir), quick)
		if said := m.said(); len(said) != want || want > 0 && !strings.Contains(said[0], "every user may write to it") {
			t.Errorf("%v: said %q", mode, said)
		}
	}
}
