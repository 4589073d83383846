package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unpublishable is an agent that leaves names that no encoding knows, two that
// look the same when replaced by question marks, long ones, and many files.
const unpublishable = `
agent "rogue" {
  command = ["sh", "-c", <<-EOT
    cp "$DATA_DIR/sample_submission.csv" "$SUBMISSION_DIR/submission.csv"
    cp "$DATA_DIR/train.csv" "$CODE_DIR/a-train.csv"
    cd "$LOGS_DIR"
    echo one > "$(printf 'name-\377')"
    echo two > "$(printf 'name-\376')"
    echo three > "$(printf 'line\nfeed\033[2J\\%%%%41')"
    echo four > "name-%%FF"
    cd "$CODE_DIR"
    i=0; while [ $i -lt 30 ]; do d="$(printf '%%0250d' $i)"; mkdir "$d"; cd "$d"; i=$((i+1)); done
    echo deep > "$(printf 'deep-\377')"
    cd "$CODE_DIR"
    mkdir many; cd many
    seq 1 %d | split -l 1 -a 5 - "$(printf 'part-\300')"
  EOT
  ]
}
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "checksum" "data" {
  competition = "demo-digits"
  prepared    = step.prepare.data
}
step "agent-run" "solve" {
  agent       = agent.rogue
  competition = "demo-digits"
  data        = step.checksum.data.public
  timeout     = "10m"
}
step "grade" "score" {
  competition = "demo-digits"
  submission  = step.agent-run.solve.submission
  answers     = step.checksum.data.private
}
step "aggregate" "board" { reports = [step.grade.score.report] }
`

// TestWhatAnAgentLeavesIsPublished has an agent try to make its run
// unpublishable. MLEFLOW_MANY_FILES=210000 has it leave more files than a
// bundle lists.
func TestWhatAnAgentLeavesIsPublished(t *testing.T) {
	files := 300
	if text := os.Getenv("MLEFLOW_MANY_FILES"); text != "" {
		if _, err := fmt.Sscan(text, &files); err != nil {
			t.Fatal(err)
		}
	}
	p := newPlace(t, t.TempDir())
	if err := os.WriteFile(p.file, fmt.Appendf(nil, unpublishable, files), 0o644); err != nil {
		t.Fatal(err)
	}
	p.finish()
	path := filepath.Join(t.TempDir(), "run.bundle")
	if stdout, stderr, code := p.run("bundle", "-o", path); code != 0 {
		t.Fatalf("bundle: exit %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code := p.run("verify", path, "--regrade")
	if code != 0 {
		t.Fatalf("verify: exit %d\n%s%s", code, stdout, stderr)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`logs/name-%FF"`, `logs/name-%FE"`, `logs/name-%25FF"`, `logs/line%0Afeed%1B[2J%5C%2541"`, "one\n", "two\n", "three\n", "four\n", "deep\n", "299\n",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the bundle lacks %q", want)
		}
	}
	if !strings.Contains(string(b), `"files": 1,`) {
		t.Error("the file of the data that is not in the pack is not told of")
	}
}
