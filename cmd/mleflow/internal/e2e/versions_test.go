package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersions applies pipelines/versions.hcl on miniature raw data: one run
// reports v1 and v2 of every competition that has both, downloads each once,
// and marks crowded leaderboards in v2 alone.
func TestVersions(t *testing.T) {
	p := &place{t: t, cache: filepath.Join(t.TempDir(), "cache"), file: pipelines + "versions.hcl"}
	out, errs, code := p.run("apply", p.file, "-var", "raw="+goldenRaw(t), "-var", "on_mismatch=warn", "-var", goldenParams(t), "--json")
	if code != 0 {
		t.Fatalf("exit status %d\n%s\n%s", code, out, errs)
	}
	want := map[string]int{"download": 7, "prepare": 14, "checksum": 14, "agent-run": 14, "grade": 14, "aggregate": 2}
	if diff := cmp.Diff(want, finished(t, out)); diff != "" {
		t.Errorf("steps that ran (-want +got):\n%s", diff)
	}
	v1, v2, _ := strings.Cut(leaderboard(t, out), "Version v2")
	if strings.Count(v1, "1/1") != 7 || strings.Count(v2, "1/1") != 7 {
		t.Errorf("not 7 valid submissions in each version:\n%s\n%s", v1, v2)
	}
	if strings.Contains(v1, "crowded") || strings.Count(v2, "(crowded)") != 4 {
		t.Errorf("crowded leaderboards are not marked in v2 alone:\n%s\n%s", v1, v2)
	}
}
