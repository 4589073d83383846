package sandbox

import (
	"slices"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// TestPrivate: folders of the user's are hidden where the guest would see them.
func TestPrivate(t *testing.T) {
	t.Setenv("HOME", "/usr/local/home/me")
	t.Setenv("TMPDIR", "/var/tmp")
	e := New(Options{Dir: "/usr/share/cache/sandbox", Private: []string{"/usr/local/pipelines/", "relative", "/"}})
	mounts, masked := hostMounts(append(e.private(), "/usr/bin/env"))
	want := []first.Text{"/usr/local/home/me", "/usr/share/cache", "/usr/local/pipelines", "/usr/bin/env"}
	if !slices.Equal(masked, want) {
		t.Errorf("masked %v, want %v", masked, want)
	}
	for _, m := range mounts {
		if !m.ReadOnly {
			t.Errorf("%+v can be written to", m)
		}
	}
}
