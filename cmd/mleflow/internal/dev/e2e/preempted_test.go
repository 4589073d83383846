package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// preempted is a pipeline of one attempt that writes a journal for some seconds. In each life
// it asks for one validation score, where there is curl.
const preempted = `
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
agent "diary" {
  command = ["/bin/sh", "-c", "cd $AGENT_DIR; touch j; echo >> lives; sed s/,0$/,$(wc -l < lives)/ $VALIDATION_DIR/sample_submission.csv > v.csv; curl -s -F file=@v.csv $MLEFLOW_GATEWAY/score; while n=$(wc -l < j) && [ $n -lt 40 ]; do echo line $n >> j; sleep 0.2; done; cp j $CODE_DIR/j; cp $MLEFLOW_SAMPLE $SUBMISSION_DIR/submission.csv"]
}
step "agent-run" "solve" {
  agent            = agent.diary
  competition      = "demo-digits"
  data             = step.prepare.data.public
  timeout          = "5m"
  on_loss          = "resume"
  checkpoint_every = "1s"
  feedback         = "validation"
  queries          = 7
}`

// goesOn applies one attempt on a cluster, whose machine take takes away. It goes on from
// a checkpoint, and nothing of its journal is missing.
func goesOn(l *lab, take func(*testing.T)) {
	t := l.t
	if err := os.WriteFile(l.file, []byte(preempted), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := l.command("apply", l.file, "--on", filepath.Join(l.dir, "cluster.hcl"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	take(t)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, out.String())
	}
	stdout, _, _ := l.run("show", "--json")
	if !strings.Contains(stdout, `"resumes=1"`) {
		t.Errorf("it did not go on:\n%s\n%s", out.String(), stdout)
	}
	if !strings.Contains(stdout, `"feedback=validation(7)"`) {
		t.Errorf("its class does not have the validation score:\n%s", stdout)
	}
	code := filepath.Join(l.dir, "code")
	if _, stderr, status := l.run("get", "latest", "step.agent-run.solve.code", "-o", code); status != 0 {
		t.Fatal(stderr)
	}
	var want strings.Builder
	for n := range 40 {
		fmt.Fprintln(&want, "line", n)
	}
	found, _ := filepath.Glob(filepath.Join(code, "*", "j"))
	found = append(found, filepath.Join(code, "j"))
	if text, err := os.ReadFile(found[0]); err != nil || string(text) != want.String() {
		t.Errorf("%v, %q", err, text)
	}
}
