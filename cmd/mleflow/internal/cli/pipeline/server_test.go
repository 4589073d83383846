package pipeline

import (
	"os"
	"path/filepath"
	"testing"
)

// A submission starts at the lowest folder with all files.
func TestRise(t *testing.T) {
	top := t.TempDir()
	deep := filepath.Join(top, "x..", "p")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		paths       []string
		root, below string
	}{
		{[]string{"a.hcl", "x../b"}, "x../p", ""}, {[]string{"../common/a.hcl", "c"}, "x..", "p"}, {[]string{"../../a", "../b"}, ".", "x../p"},
	} {
		var g gathering
		if err := g.rise(filepath.Join(deep, "main.hcl"), tt.paths); err != nil || g.root != filepath.Join(top, tt.root) || g.below != tt.below {
			t.Errorf("%q: root %s, below %s, %v", tt.paths, g.root, g.below, err)
		}
	}
}
