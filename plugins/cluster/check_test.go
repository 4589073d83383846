package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	if err := Own(dir); err != nil {
		t.Errorf("a folder that does not exist: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Own(dir); err != nil {
		t.Errorf("one's own folder: %v", err)
	}
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	if err := Own(dir); err == nil || !strings.Contains(err.Error(), "can be written by other users") {
		t.Errorf("a folder of a group: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(dir, 65534, -1); err != nil {
		t.Fatal(err)
	}
	if err := Own(dir); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Errorf("another user's folder: %v", err)
	}
}
