package cachetest

import (
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/cache/tree"
)

// Removable makes the folder of a cache removable after the test: folders that
// attempts share, or leave to others, are read-only and stay when the attempts end.
func Removable(t testing.TB, dir string) {
	// Errors are ignored here: removing the whole folder reports what is in the
	// way.
	t.Cleanup(func() {
		_ = tree.Remove(filepath.Join(dir, "shared"))
		_ = tree.Remove(filepath.Join(dir, "links"))
	})
}
