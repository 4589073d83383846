package cachetest

import (
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/cache/tree"
)

// Removable lets the folder of a cache be removed after the test by whoever runs it:
// folders that attempts share are read-only, and stay when they end.
func Removable(t testing.TB, dir string) {
	// What is in the way is told when the whole folder is removed.
	t.Cleanup(func() { _ = tree.Remove(filepath.Join(dir, "shared")) })
}
