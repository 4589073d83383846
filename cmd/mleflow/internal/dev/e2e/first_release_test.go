package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadsTheFirstRelease reads a cache and a bundle that v0.1.0 wrote,
// as CHANGELOG.md promises. When the version of a kind rises, "0 to run" becomes the
// number of its steps and of those after them.
func TestReadsTheFirstRelease(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", "testdata/v0.1.0.tar.gz", "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p := &place{t: t, cache: filepath.Join(dir, "cache"), file: filepath.Join(dir, "pipeline.hcl")}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"cache", "verify", "--full"}, ""},
		{[]string{"runs"}, "pipeline.hcl"},
		{[]string{"show", "latest"}, "dummy"},
		{[]string{"output", "leaderboard"}, "dummy"},
		{[]string{"logs", "latest", "step.agent-run.solve"}, ""},
		{[]string{"get", "latest", "step.grade.score.report", "-o", filepath.Join(dir, "out")}, "report"},
		{[]string{"explain", p.file, "step.grade.score"}, ""},
		{[]string{"plan", p.file}, "Nothing to do"},
		{[]string{"apply", p.file, "--require-cached"}, "Nothing to do"},
		{[]string{"verify", filepath.Join(dir, "run.bundle"), "--regrade"}, "1 of 1 score"},
	} {
		stdout, stderr, code := p.run(tt.args...)
		if code != 0 || !strings.Contains(stdout, tt.want) {
			t.Errorf("mleflow %q: exit %d, want %q\n%s%s", tt.args, code, tt.want, stdout, stderr)
		}
	}
}
