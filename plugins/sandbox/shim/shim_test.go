package shim_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mleflow/mleflow/plugins/sandbox/shim"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

// place is a sandbox with the shim in it: a Python, the folders of an attempt,
// and a validity server whose valid submissions begin with "id".
type place struct {
	t    *testing.T
	home string
	env  []string

	mu      sync.Mutex
	records []shim.Record
}

// python finds the interpreter.
func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("it needs Python: ", err)
	}
	return path
}

var task = shim.Task{
	Competition: shim.Competition{ID: "toy", Name: "Toy", Type: "simple", Metric: "log-loss", Sample: "sample_submission.csv", LowerIsBetter: true},
	IDs:         []string{"other", "toy"},
	Sets:        map[string][]string{"low": {"toy"}, "all": {"other", "toy"}},
}

// pandas stands in for the real one, of which the shim needs this much.
const pandas = `
class errors:
    class EmptyDataError(Exception): pass
class DataFrame(dict): pass
def read_csv(path, **kwargs):
    with open(path) as f: lines = f.read().splitlines()
    if not lines: raise errors.EmptyDataError()
    return DataFrame((name, []) for name in lines[0].split(","))
`

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, home: t.TempDir()}
	py := python(t)
	for _, name := range []string{"data", "logs", "agent", "code", "submission", "site-packages"} {
		if err := os.Mkdir(filepath.Join(p.home, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.write("data/description.md", "# The text of the task\n")
	p.write("data/sample_submission.csv", "id,y\n1,a\n")
	p.write("data/train.csv", "id,x,y\n")
	p.write("site-packages/pandas.py", pandas)
	root := filepath.Join(p.home, "shim")
	if err := task.Write(root); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(validity.New(validity.Options{
		Dir: t.TempDir(), Evidence: shim.Handler(p.add),
		Check: func(_ context.Context, path string) (validity.Verdict, error) {
			data, err := os.ReadFile(path)
			if err == nil && !strings.HasPrefix(string(data), "id") {
				return validity.Verdict{Class: "columns", Reason: "there is no id"}, nil
			}
			return validity.Verdict{}, err
		},
	}))
	t.Cleanup(server.Close)
	p.env = []string{
		"PATH=" + filepath.Join(root, shim.Commands) + ":" + filepath.Dir(py) + ":/usr/bin:/bin",
		"PYTHONPATH=" + filepath.Join(root, shim.Python) + ":" + filepath.Join(p.home, "site-packages"), "PYTHONDONTWRITEBYTECODE=1", "HOME=" + p.home,
		"MLEFLOW_GATEWAY=" + server.URL, "http_proxy=http://127.0.0.1:9", "COMPETITION_ID=toy",
	}
	for _, name := range []string{"data", "logs", "agent", "code", "submission"} {
		p.env = append(p.env, strings.ToUpper(name)+"_DIR="+filepath.Join(p.home, name))
	}
	for _, name := range []string{"PYENV_VERSION", "PYENV_ROOT"} {
		p.env = append(p.env, name+"="+os.Getenv(name))
	}
	return p
}

func (p *place) add(r shim.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records = append(p.records, r)
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.home, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// run runs a command in the agent's folder and returns what it printed, and
// whether it ended well.
func (p *place) run(words ...string) (string, bool) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "/bin/sh", append([]string{"-c", `exec "$0" "$@"`}, words...)...)
	cmd.Dir, cmd.Env = filepath.Join(p.home, "agent"), p.env
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// script runs a Python program of the agent's.
func (p *place) script(text string) (string, bool) {
	p.t.Helper()
	p.write("agent/solve.py", text)
	return p.run("python3", "solve.py")
}

// call is what matters of a record.
type call struct {
	Kind shim.Kind
	Call string
	Line int
}

func (p *place) calls() (list []call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.records {
		list = append(list, call{r.Kind, r.Call, r.Line})
	}
	return list
}

// The programs below have the shapes in which agents call mlebench, by what is
// public of theirs.
func TestCallShapes(t *testing.T) {
	tests := []struct {
		name, program string
		// printed is part of what it prints; fails says that it ends badly.
		printed string
		fails   bool
		calls   []call
	}{
		{
			name: "a server that validates files for its agent", program: `
from pathlib import Path
from mlebench.grade import validate_submission
from mlebench.registry import registry
comp = registry.set_data_dir(Path("/private/data")).get_competition("toy")
print(validate_submission(Path("../data/sample_submission.csv"), comp))
print(validate_submission(Path("solve.py"), comp)[0], validate_submission(Path("none.csv"), comp)[0])
Path("bad.csv").write_text("x,y\n1,2\n")
print(validate_submission(Path("bad.csv"), comp))
`,
			printed: "(True, 'Submission is valid.')\nFalse False\n(False, 'Submission invalid! there is no id')\n",
		},
		{
			name: "a handler that prepares, describes, validates and then grades", program: `
import mlebench
from mlebench.data import download_and_prepare_dataset, is_dataset_prepared
from mlebench.grade import validate_submission, grade_csv
from mlebench.registry import registry
from pathlib import Path
print(len(registry.list_competition_ids()), registry.get_lite_competition_ids())
c = registry.get_competition("toy")
download_and_prepare_dataset(c)
print(is_dataset_prepared(c), sorted(p.name for p in c.public_dir.glob("*")), c.sample_submission.exists())
print(c.name, c.description, c.competition_type, c.grader.name)
try:
    print(grade_csv(Path("../data/sample_submission.csv"), c).score)
except mlebench.Refused as e:
    print("refused:", e)
`,
			printed: "2 ['toy']\n", calls: []call{{shim.Grade, "mlebench.grade.grade_csv", 13}},
		},
		{
			name: "a task that wants the direction of the metric, and an evaluation", program: `
import pandas as pd
from pathlib import Path
from mlebench.data import get_leaderboard, is_dataset_prepared
from mlebench.grade_helpers import CompetitionReport
from mlebench.registry import Competition, Registry, registry
from mlebench.utils import get_logger, get_timestamp, load_answers, purple, read_csv, read_jsonl
competition = registry.set_data_dir(Path("/data")).get_competition("toy")
frame = pd.read_csv(competition.leaderboard)
frame["score"]
print(competition.grader.is_lower_better(frame), isinstance(competition, Competition))
assert is_dataset_prepared(competition, grading_only=True)
answers = load_answers(competition.answers)
`,
			printed: "True True\n", fails: true, calls: []call{{shim.Answers, "mlebench.utils.load_answers", 13}},
		},
		{
			name: "an evaluation program that catches everything", program: `
from mlebench.data import get_leaderboard, is_dataset_prepared
from mlebench.registry import registry
from mlebench.utils import load_answers, read_csv
c = registry.get_competition("toy")
try:
    score = c.grader(read_csv("../data/sample_submission.csv"), None)
except Exception as e:
    print(type(e).__name__, "recorded" in str(e))
board = get_leaderboard(c)
print(len(board["score"]), c.grader.is_lower_better(board))
try:
    c.grader.rank_score(0.5, board)
except Exception as e:
    print(type(e).__name__)
`,
			printed: "Refused True\n",
			calls: []call{
				{shim.Grade, "mlebench.grade_helpers.Grader", 7}, {shim.Leaderboard, "mlebench.data.get_leaderboard", 10},
				{shim.Leaderboard, "mlebench.grade_helpers.Grader.rank_score", 13},
			},
		},
		{
			name: "a tool that reads the answers in every way", program: `
import os, shutil
import pandas as pd
from pathlib import Path
from mlebench.registry import Registry
c = Registry(data_dir=Path("/data")).get_competition("toy")
def attempt(fn):
    try:
        print(fn())
    except PermissionError:
        print("no")
attempt(lambda: pd.read_csv(c.answers))
attempt(lambda: open(c.answers))
attempt(lambda: c.answers.read_text())
attempt(lambda: (c.private_dir / "test.csv").open())
attempt(lambda: list(c.private_dir.iterdir()))
attempt(lambda: os.stat(c.raw_dir))
attempt(lambda: shutil.copy(c.gold_submission, "x"))
attempt(lambda: c.answers.exists())
attempt(lambda: os.path.exists(str(c.answers)))
print(repr(c), [c.answers])
`,
			printed: "no\nno\nno\nno\nno\nno\nno\nFalse\nFalse\nCompetition(id='toy') [<mlebench.registry.Competition.answers: withheld>]\n",
			calls: []call{
				{shim.Answers, "mlebench.registry.Competition.answers (open)", 12},
				{shim.Answers, "mlebench.registry.Competition.answers (open)", 13},
				{shim.Answers, "mlebench.registry.Competition.answers (open)", 14},
				{shim.Answers, "mlebench.registry.Competition.private_dir (open)", 15},
				{shim.Answers, "mlebench.registry.Competition.private_dir (open)", 16},
				{shim.Answers, "mlebench.registry.Competition.raw_dir (open)", 17},
				{shim.Answers, "mlebench.registry.Competition.gold_submission (open)", 18},
				{shim.Answers, "mlebench.registry.Competition.answers (exists)", 19},
				{shim.Answers, "mlebench.registry.Competition.answers (path)", 20},
			},
		},
		{
			name: "an import of a grader", program: `
from mlebench.utils import import_fn
try:
    import_fn("mlebench.competitions.toy.grade:grade")
except ImportError as e:
    print(e)
`,
			printed: "import mlebench.competitions.toy is refused", calls: []call{{shim.Grade, "import mlebench.competitions.toy", 4}},
		},
		{
			name: "metrics and checksums of its own files, and of the answers", program: `
from pathlib import Path
from mlebench.metrics import average_precision_at_k
from mlebench.competitions.utils import InvalidSubmissionError, prepare_for_accuracy_metric
from mlebench.data import generate_checksums, get_checksum, is_valid_prepare_fn
from mlebench.registry import registry
c = registry.get_competition("toy")
print(average_precision_at_k({1, 2}, [1, 1, 3, 2], 3), is_valid_prepare_fn(c.prepare_fn))
print(generate_checksums(c.public_dir)["train.csv"], get_checksum(c.public_dir / "train.csv"))
for ask in (lambda: get_checksum(c.answers), lambda: generate_checksums(c.private_dir)):
    try:
        print(ask())
    except PermissionError:
        print("no")
`,
			printed: "0.5 True\n7f840dd22accf07f05d9f33bbf745447 7f840dd22accf07f05d9f33bbf745447\nno\nno\n",
			calls: []call{
				{shim.Answers, "mlebench.registry.Competition.answers (open)", 10},
				{shim.Answers, "mlebench.registry.Competition.private_dir (open)", 10},
			},
		},
		{
			name: "another competition", program: `
from mlebench.registry import registry
registry.get_competition("other")
`,
			printed: "the competition 'other' is not in this sandbox; 'toy' is", fails: true,
		},
		{
			name: "tools", program: `
from mlebench.utils import extract, compress, create_run_dir, get_runs_dir, is_compressed, is_empty, read_jsonl, purple, get_diff
from mlebench.grade_helpers import CompetitionReport, InvalidSubmissionError
from mlebench.registry import registry
from pathlib import Path
Path("in/deep").mkdir(parents=True)
Path("in/deep/a.txt").write_text("a")
compress(Path("in"), Path("in.zip"))
extract(Path("in.zip"), Path("out"))
print(Path("out/deep/a.txt").read_text(), is_compressed(Path("in.zip")), is_empty(Path("out")))
print(create_run_dir("toy", "me", "group").parent.parent == get_runs_dir())
Path("x.jsonl").write_text('// c\n{"a": 1}\n')
print(read_jsonl("x.jsonl", skip_commented_out_lines=True), (registry.get_splits_dir() / "low.txt").read_text())
values = dict.fromkeys(CompetitionReport.fields)
values["created_at"] = "2024-01-01T00:00:00"
print(CompetitionReport.from_dict(values).to_dict() == values)
`,
			printed: "a True False\nTrue\n[{'a': 1}] toy\n\nTrue\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			printed, ok := p.script(tt.program)
			if ok == tt.fails || !strings.Contains(printed, tt.printed) {
				t.Errorf("ended well: %v; printed\n%s\nwant\n%s", ok, printed, tt.printed)
			}
			if diff := cmp.Diff(tt.calls, p.calls()); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			for _, r := range p.records {
				if filepath.Base(r.File) != "solve.py" || r.At == "" || r.Time.IsZero() {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

func TestCommand(t *testing.T) {
	tests := []struct {
		name, line, printed string
		fails               bool
		want                []shim.Record
	}{
		{"prepare", "mlebench prepare -c toy --data-dir /tmp/x --keep-raw", "The data of toy are prepared", false, nil},
		{"prepare all", "mlebench prepare --all", "The data of toy are prepared", false, nil},
		{"prepare another", "mlebench prepare --competition-id other", "the competition other is not in this sandbox", true, nil},
		{
			"grade-sample into a file", "mlebench grade-sample submission.csv toy --data-dir /mle/data 2>&1 | tee score.txt", "mlebench grade-sample is refused", false,
			[]shim.Record{{Kind: shim.Grade, Call: "mlebench grade-sample", Arguments: []string{"competition_id", "data_dir", "submission"}}},
		},
		{
			"thresholds", "mlebench grade-sample None toy", "recorded", true,
			[]shim.Record{{Kind: shim.Grade, Call: "mlebench grade-sample", Arguments: []string{"competition_id", "submission"}}},
		},
		{
			"grade", "python3 -m mlebench.cli grade --submission s.jsonl --output-dir out", "mlebench grade is refused", true,
			[]shim.Record{{Kind: shim.Grade, Call: "mlebench grade", Arguments: []string{"output_dir", "submission"}}},
		},
		{
			"leaderboard", "python3 -m mlebench dev download-leaderboard --all", "refused", true,
			[]shim.Record{{Kind: shim.Leaderboard, Call: "mlebench dev download-leaderboard", Arguments: []string{"all"}}},
		},
		{
			"a line for a program", `python3 -c "import subprocess; subprocess.call('mlebench grade-sample x toy 2>&1 | tail -n 1', shell=True)"`, "refused", false,
			[]shim.Record{{Kind: shim.Grade, Call: "mlebench grade-sample", Arguments: []string{"competition_id", "submission"}}},
		},
		{"help", "mlebench --help", "grade-sample", false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			p.write("agent/run.sh", tt.line+"\n")
			printed, ok := p.run("sh", "run.sh")
			if ok == tt.fails || !strings.Contains(printed, tt.printed) {
				t.Errorf("ended well: %v; printed\n%s", ok, printed)
			}
			for i := range tt.want {
				tt.want[i].File = filepath.Join(p.home, "agent", "run.sh")
			}
			opts := cmp.Options{cmpopts.IgnoreFields(shim.Record{}, "Time", "At"), cmpopts.EquateEmpty()}
			if diff := cmp.Diff(tt.want, p.records, opts); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNothingIsLost: where the server is not reached the record is in the logs.
func TestNothingIsLost(t *testing.T) {
	p := newPlace(t)
	p.env = append(p.env, "MLEFLOW_GATEWAY=http://127.0.0.1:9")
	if printed, ok := p.run("mlebench", "grade-sample", "x.csv", "toy"); ok {
		t.Error(printed)
	}
	f, err := os.Open(filepath.Join(p.home, "logs", shim.Fallback))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := shim.Late(f, p.add); err != nil || len(p.records) != 1 || !p.records[0].Late || p.records[0].Call != "mlebench grade-sample" {
		t.Errorf("%v, %+v", err, p.records)
	}
}

// TestForged: what an agent makes up is bounded and has the fields of a record.
func TestForged(t *testing.T) {
	var got []shim.Record
	h := shim.Handler(func(r shim.Record) { got = append(got, r) })
	send := func(body string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/evidence", strings.NewReader(body)))
		return w.Code
	}
	long := strings.Repeat("é", 3000)
	text, _ := json.Marshal(map[string]any{
		"kind": "grade", "call": "x" + long, "file": long, "line": -4, "arguments": strings.Split(strings.Repeat("a,", 100), ","), "time": "x", "late": true, "extra": long[:100],
	})
	for body, want := range map[string]int{
		string(text): 204, "": 400, "{}": 400, `{"kind":"other","call":"x"}`: 400, `{"kind":"grade","call":"` + strings.Repeat("x", 20<<10) + `"}`: 413,
	} {
		if code := send(body); code != want {
			t.Errorf("%.40s: %d, want %d", body, code, want)
		}
	}
	line, _ := json.Marshal(got)
	if len(got) != 1 || len(line) > 3000 || got[0].Line != 0 || len(got[0].Arguments) > 16 || got[0].Late {
		t.Errorf("%d bytes: %.200s", len(line), line)
	}
	got = nil
	lines := strings.Repeat("{\"kind\":\"grade\",\"call\":\"x\"}\nnonsense\n", 5000)
	if err := shim.Late(strings.NewReader(lines+strings.Repeat("y", 1<<20)), func(r shim.Record) { got = append(got, r) }); err != nil || len(got) != 500 {
		t.Errorf("%d, %v", len(got), err)
	}
}

// TestDigest: the package and the task are in it.
func TestDigest(t *testing.T) {
	one, err := task.Digest()
	if err != nil {
		t.Fatal(err)
	}
	other := task
	other.Competition.LowerIsBetter = false
	if two, _ := other.Digest(); one == two {
		t.Error("another task has the same digest")
	}
	if again, _ := task.Digest(); one != again {
		t.Error("the digest is not stable")
	}
}

func TestTally(t *testing.T) {
	var tally shim.Tally
	for i := range 300 {
		tally.Add(shim.Record{Kind: shim.Grade, Call: "grade_csv", File: "a.py", Line: 7})
		tally.Add(shim.Record{Kind: shim.Answers, Call: "made up", File: "b.py", Line: i})
	}
	groups := tally.Groups()
	if len(groups) != 100 || tally.Others != 201 || groups[0].Times != 300 || groups[0].Place() != "a.py:7" || groups[1].Place() != "b.py" {
		t.Errorf("%d groups, %d others, first %+v", len(groups), tally.Others, groups[:2])
	}
	if place := (shim.Group{}).Place(); place != "not known" {
		t.Error(place)
	}
}
