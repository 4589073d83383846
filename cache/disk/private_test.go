package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestPrivate opens caches whose folders have all kinds of permissions.
func TestPrivate(t *testing.T) {
	for _, tt := range []struct{ before, after fs.FileMode }{
		{0, 0o700}, // none
		{0o700, 0o700},
		{0o755, 0o700}, // the usual mask
		{0o777, 0o770},
		{0o775, 0o770},
		{0o750, 0o750}, // a group that reads
		{0o770 | fs.ModeSetgid, 0o770 | fs.ModeSetgid},
		{0o775 | fs.ModeSetgid, 0o770 | fs.ModeSetgid},
	} {
		dir := filepath.Join(t.TempDir(), "above", "cache")
		if tt.before != 0 {
			must(t, os.MkdirAll(dir, 0o700))
			must(t, os.Chmod(dir, tt.before))
		}
		session(t, dir, Options{}, hooks{}, func(c *Cache) { putText(t, c, "answers") })
		session(t, dir, Options{}, hooks{}, func(*Cache) {})
		info, err := os.Stat(dir)
		must(t, err)
		if got := info.Mode() &^ fs.ModeDir; got != tt.after {
			t.Errorf("%v becomes %v, want %v", tt.before, got, tt.after)
		}
	}
}

// TestPrivateReadOnly leaves a cache that is opened for reading as it is.
func TestPrivateReadOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	session(t, dir, Options{}, hooks{}, func(c *Cache) { putText(t, c, "answers") })
	must(t, os.Chmod(dir, 0o755))
	c := openTest(t, dir, Options{ReadOnly: true}, hooks{})
	must(t, c.Close())
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}
