package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestCloned: doctor runs no job for a cluster file that a repository may have brought along.
func TestCloned(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "repo/.git"), 0o755), os.MkdirAll(filepath.Join(dir, "repo/sub"), 0o755), os.MkdirAll(filepath.Join(dir, "home/lab"), 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(dir, "repo"))
	for path, want := range map[string]bool{
		"cluster.hcl": true, "sub/cluster.hcl": true, filepath.Join(dir, "repo/sub/cluster.hcl"): true,
		filepath.Join(dir, "cluster.hcl"): false, filepath.Join(dir, "home/lab/cluster.hcl"): false,
	} {
		if got := cloned(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
