package agentrun_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/sandbox/shim"
	"github.com/mleflow/mleflow/steps/steptest"
)

// needPython skips a test where there is no Python.
func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("it needs Python: ", err)
	}
}

// shimAgent uses the package and the command as agents do: it validates what it
// submits, asks for a grade and for the answers, and at last where no server
// answers.
const shimAgent = `
cat > $CODE_DIR/solve.py <<'EOP'
import os, sys
from pathlib import Path
import mlebench.registry
from mlebench.grade import grade_csv, validate_submission
c = mlebench.registry.registry.set_data_dir(Path("/private/data")).get_competition(os.environ["COMPETITION_ID"])
out = Path(os.environ["SUBMISSION_DIR"]) / "submission.csv"
out.write_text(c.sample_submission.read_text())
print(c.name, c.description.split()[1], *validate_submission(out, c))
for refused in (lambda: grade_csv(out, c), lambda: open(c.answers)):
    try:
        refused()
    except mlebench.Refused as e:
        print("refused")
EOP
python3 $CODE_DIR/solve.py
mlebench prepare -c toy && mlebench grade-sample $SUBMISSION_DIR/submission.csv toy || true
echo 'mlebench dev download-leaderboard -c toy' > $AGENT_DIR/$TOKEN.sh; sh $AGENT_DIR/$TOKEN.sh || true
MLEFLOW_GATEWAY=http://127.0.0.1:9 mlebench grade --submission s.jsonl --output-dir $TOKEN || true
`

// shimRecords are those of shimAgent, but for times.
var shimRecords = []shim.Record{
	{Kind: shim.Grade, Call: "mlebench.grade.grade_csv", Arguments: []string{"path_to_submission", "competition"}, File: "/home/code/solve.py", Line: 9},
	{Kind: shim.Answers, Call: "mlebench.registry.Competition.answers (open)", File: "/home/code/solve.py", Line: 9},
	{Kind: shim.Grade, Call: "mlebench grade-sample", Arguments: []string{"competition_id", "submission"}},
	{Kind: shim.Leaderboard, Call: "mlebench dev download-leaderboard", Arguments: []string{"competition_id"}, File: "/home/agent/***.sh"},
	{Kind: shim.Grade, Call: "mlebench grade", Arguments: []string{"output_dir", "submission"}, Late: true},
}

func checkShim(t *testing.T, b *steptest.Bench, args map[string]cty.Value) {
	t.Helper()
	t.Setenv("TOKEN_SOURCE", "s3cr3t-value")
	args["shim"] = cty.True
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	printed := b.Files(t, out["logs"].Ref)["output.log"]
	if want := "Toy Toy True Submission is valid.\nrefused\nrefused\n"; !strings.Contains(printed, want) {
		t.Errorf("printed\n%s\nwant\n%s", printed, want)
	}
	text := b.Text(t, out["shim_log"].Ref)
	got := lines[shim.Record](t, text)
	for i := range got {
		if filepath.Base(got[i].File) == "sh" { // by which path, the shell says
			got[i].File = ""
		}
	}
	if diff := cmp.Diff(shimRecords, got, cmpopts.IgnoreFields(shim.Record{}, "Time", "At"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("shim_log (-want +got):\n%s", diff)
	}
	if stats := result2(t, out); stats.ShimCalls != len(shimRecords) || stats.Validations != 1 {
		t.Errorf("%+v", stats)
	}
	if strings.Contains(text, "s3cr3t") {
		t.Errorf("shim_log:\n%s", text)
	}
	for _, name := range []string{"submission", "code", "logs"} {
		for file := range b.Files(t, out[name].Ref) {
			if strings.Contains(file, "registry") || strings.Contains(file, "task.json") {
				t.Errorf("the shim is harvested: %s/%s", name, file)
			}
		}
	}
}

func TestShim(t *testing.T) {
	needPython(t)
	b := newBench(t)
	agent := who([]string{"/bin/sh", "-c", shimAgent}, map[string]cty.Value{
		"secrets": cty.MapVal(map[string]cty.Value{"TOKEN": cty.StringVal("env:TOKEN_SOURCE")}),
		"env":     cty.MapVal(map[string]cty.Value{"PYTHONPATH": cty.StringVal("/nowhere"), "PYTHONDONTWRITEBYTECODE": cty.StringVal("1")}),
	})
	checkShim(t, b, values(b, t, agent))
}

// TestShimIsOff: without it there is nothing, and an empty log.
func TestShimIsOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	out, err := b.Run(t, values(b, t, shell(`command -v mlebench || echo "none$PYTHONPATH"; `+askSelf(t)+` get $MLEFLOW_GATEWAY/evidence`)))
	if err != nil {
		t.Fatal(err)
	}
	if printed := b.Files(t, out["logs"].Ref)["output.log"]; !strings.HasPrefix(printed, "none\n404") {
		t.Errorf("printed %q", printed)
	}
	if text := b.Text(t, out["shim_log"].Ref); text != "" {
		t.Errorf("shim_log %q", text)
	}
}

// TestShimFallback: what lies where the shim leaves its records is read as what
// agents leave is: a link, a pipe or a folder is not.
func TestShimFallback(t *testing.T) {
	t.Parallel()
	record := `{"kind":"grade","call":"a call"}`
	for name, line := range map[string]string{
		"link":   `echo '` + record + `' > $AGENT_DIR/x; ln -s ../agent/x $LOGS_DIR/mlebench_shim.jsonl`,
		"pipe":   `mkfifo $LOGS_DIR/mlebench_shim.jsonl`,
		"folder": `mkdir $LOGS_DIR/mlebench_shim.jsonl`,
		"lost":   `rm -r $LOGS_DIR`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			args := values(b, t, shell(line))
			args["shim"] = cty.True
			out, err := b.Run(t, args)
			if err != nil {
				t.Fatal(err)
			}
			if text := b.Text(t, out["shim_log"].Ref); text != "" {
				t.Errorf("shim_log %q", text)
			}
		})
	}
}

// TestShimKey: the package and the task are part of the attempt's key.
func TestShimKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	args := values(b, t, shell("true"))
	const field = "package mlebench"
	if off := b.Key(t, args); off[field] != "" {
		t.Errorf("without the shim: %q", off[field])
	}
	args["shim"] = cty.True
	if on := b.Key(t, args); on[field] == "" {
		t.Errorf("the key's fields: %v", on)
	}
}
