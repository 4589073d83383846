package app

import (
	"runtime/debug"
	"testing"
)

func TestReleaseOf(t *testing.T) {
	checkout := []debug.BuildSetting{{Key: "vcs.revision", Value: "8f46098"}}
	for _, c := range []struct {
		name, linked, module string
		settings             []debug.BuildSetting
		want                 string
	}{
		{"release", "v1.2.3", "v0.0.0-20261122170000-8f46098aaaaa", checkout, "v1.2.3"},
		{"installed", "", "v1.2.3", nil, "v1.2.3"},
		{"installed after a tag", "", "v1.2.4-0.20261122170000-8f46098aaaaa", nil, "v1.2.4-0.20261122170000-8f46098aaaaa"},
		{"installed before the first tag", "", "v0.0.0-20261122170000-8f46098aaaaa", nil, "0.1.0-dev+20261122170000-8f46098aaaaa"},
		{"tagged checkout", "", "v1.2.3", checkout, "v1.2.3"},
		{"checkout", "", "v0.0.0-20261122170000-8f46098aaaaa+dirty", checkout, "0.1.0-dev"},
		{"without version control", "", "(devel)", nil, "0.1.0-dev"},
		{"without build information", "", "", nil, "0.1.0-dev"},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings}
			if got := releaseOf(c.linked, info); got != c.want {
				t.Errorf("version %q, want %q", got, c.want)
			}
		})
	}
}
