package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// expected is a command with a part of what it prints; fails says that it refuses.
type expected struct {
	args  []string
	want  string
	fails bool
}

// unpacked returns a cache with a pipeline that testdata/release.sh made by an earlier
// program, in a folder.
func unpacked(t *testing.T, name string) (p *place, dir string) {
	dir = t.TempDir()
	if out, err := exec.Command("tar", "-xzf", "testdata/"+name, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return &place{t: t, cache: filepath.Join(dir, "cache"), file: filepath.Join(dir, "pipeline.hcl")}, dir
}

func (p *place) expect(list []expected) {
	p.t.Helper()
	for _, tt := range list {
		stdout, stderr, code := p.run(tt.args...)
		if (code != 0) != tt.fails || !strings.Contains(stdout+stderr, tt.want) {
			p.t.Errorf("mleflow %q: exit %d, want %q\n%s%s", tt.args, code, tt.want, stdout, stderr)
		}
	}
}

// reading are commands that read a run of an earlier program.
func reading(p *place, dir string) []expected {
	return []expected{
		{[]string{"cache", "verify", "--full"}, "", false},
		{[]string{"runs"}, "pipeline.hcl", false},
		{[]string{"show", "latest"}, "dummy", false},
		{[]string{"output", "leaderboard"}, "dummy", false},
		{[]string{"logs", "latest", "step.agent-run.solve"}, "", false},
		{[]string{"get", "latest", "step.grade.score.report", "-o", filepath.Join(dir, "out")}, "report", false},
		{[]string{"explain", p.file, "step.grade.score"}, "", false},
	}
}

// TestReadsTheFirstRelease reads a cache and a bundle that v0.1.0 wrote,
// as CHANGELOG.md promises. When the version of a kind rises, "Nothing to do" becomes the
// number of its steps and of those after them, without any that observes.
func TestReadsTheFirstRelease(t *testing.T) {
	p, dir := unpacked(t, "v0.1.0.tar.gz")
	p.expect(append(reading(p, dir), []expected{
		{[]string{"plan", p.file}, "Nothing to do", false},
		{[]string{"apply", p.file, "--require-cached"}, "Nothing to do", false},
		{[]string{"verify", filepath.Join(dir, "run.bundle"), "--regrade"}, "1 of 1 score", false},
	}...))
}

// TestUpgradeRepeatsNoAttempt reads what a program wrote whose agent-run had version 7. The
// attempt is used with the conditions that it records, and only the board is made again.
func TestUpgradeRepeatsNoAttempt(t *testing.T) {
	p, dir := unpacked(t, "agent-run-7.tar.gz")
	bundle := filepath.Join(dir, "new.bundle")
	const lacks = "not recorded: budget, cpus, feedback, gpus, knowledge, memory, network, time"
	p.expect(append(reading(p, dir), []expected{
		{[]string{"plan", p.file}, "Observed: 1 step of kind agent-run by version 7; " + lacks, false},
		{[]string{"apply", p.file, "--require-cached"}, "step.aggregate.board is not cached: kind version changed from 10 to", true},
		{[]string{"apply", p.file}, "Done: 1 ran, 4 cached", false},
		{[]string{"apply", p.file}, "Nothing to do", false},
		{[]string{"show", "latest"}, "time/cpus/memory/gpus/network/budget/feedback/knowledge not recorded", false},
		{[]string{"explain", p.file, "step.agent-run.solve"}, "kind version = 7", false},
		{[]string{"verify", "latest"}, "4 same, 1 intact", false},
		{[]string{"bundle", "latest", "-o", bundle}, "", false},
		{[]string{"verify", bundle, "--regrade"}, "1 of 1 score", false},
		{[]string{"verify", filepath.Join(dir, "run.bundle")}, "not necessarily wrong: its aggregate steps have version 10, and here", true},
		{[]string{"lock", p.file}, "pins 5 steps", false},
		{[]string{"apply", p.file, "--locked", "--require-cached"}, "Nothing to do", false},
	}...))
}
