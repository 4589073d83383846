package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// notebookPipeline has a scored attempt whose submission has earlier versions,
// an attempt without submission, one that nothing graded, and an agent whose
// name is hard to write.
const notebookPipeline = `
agent "dummy" {
  command = ["mleflow", "agent", "dummy"]
}
agent "idle" {
  command = ["true"]
}
locals {
  runs = { dummy = agent.dummy, idle = agent.idle }
}
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "exec" "shots" {
  command = ["sh", "-c", "mkdir 000000060 000000120; cp inputs/data/sample_submission.csv 000000060/submission.csv; echo nothing > 000000120/submission.csv"]
  inputs  = { data = step.prepare.data.public }
  outputs = ["000000060/submission.csv", "000000120/submission.csv"]
}
step "agent-run" "solve" {
  for_each    = local.runs
  agent       = each.value
  competition = "demo-digits"
  data        = step.prepare.data.public
}
step "agent-run" "alone" {
  agent       = agent.idle
  competition = "demo-digits"
  seed        = 7
  data        = step.prepare.data.public
}
step "grade" "score" {
  for_each    = local.runs
  competition = "demo-digits"
  submission  = step.agent-run.solve[each.key].submission
  answers     = step.prepare.data.private
  snapshots   = step.exec.shots.tree
  labels      = { agent = "=${each.key}\"</script>", seed = 1 }
}
`

// TestNotebooks reads what export wrote back with Python: its standard library,
// and with MLEFLOW_PYTHON, an interpreter that has them, pandas, polars and
// pyarrow.
func TestNotebooks(t *testing.T) {
	python := cmp.Or(os.Getenv("MLEFLOW_PYTHON"), "python3")
	if _, err := exec.LookPath(python); err != nil {
		t.Skipf("%s is not installed", python)
	}
	packages := ""
	if os.Getenv("MLEFLOW_PYTHON") != "" {
		packages = " packages"
	}
	script, err := filepath.Abs(filepath.Join("testdata", "notebook.py"))
	if err != nil {
		t.Fatal(err)
	}
	folder, env := t.TempDir(), pageEnv(t)
	if err := os.WriteFile(filepath.Join(folder, "p.hcl"), []byte(notebookPipeline), 0o644); err != nil {
		t.Fatal(err)
	}
	printed := shell(t, `mleflow apply p.hcl
mleflow bundle -o run.bundle
for format in parquet arrow csv json; do
  mleflow export latest -o run.$format
  mleflow export run.bundle run.bundle -o bundle.$format
  mleflow export latest --table snapshots -o shots.$format
done
for table in run bundle shots; do
  `+python+" "+script+" $table"+packages+`
done
`, folder, env)
	if n := strings.Count(printed, "same\n"); n != 3 {
		t.Errorf("%d of 3 tables are the same:\n%s", n, printed)
	}
}
