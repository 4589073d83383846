package history

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOwn: a run is this user's if no other user of the cache may have written its
// description and its sources, whatever the umask of those who share the cache.
func TestOwn(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o007))
	l := New(t.TempDir())
	begin(t, l, Opening{Sources: map[string][]byte{"demo.hcl": []byte("x")}})
	past := find(t, l, "latest")
	if own, err := past.Own(); err != nil || own.Info.Pipeline != pipeline {
		t.Fatalf("a run of one's own: %v", err)
	}
	for _, name := range []string{"run.json", "pipeline/demo.hcl"} {
		path := filepath.Join(past.Dir(), name)
		changes := map[string]func() error{"can be written by other users": func() error { return os.Chmod(path, 0o660) }}
		if os.Geteuid() == 0 {
			changes["belongs to user 65534"] = func() error { return os.Chown(path, 65534, -1) }
		}
		for why, change := range changes {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			if _, err := past.Own(); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, want %q", name, err, why)
			}
			if err := errors.Join(os.Chmod(path, 0o640), os.Chown(path, os.Geteuid(), -1)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
