package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/rungroup"
)

// reference is a checkout of MLE-bench and a Python with what it needs
// (MLEFLOW_REFERENCE, MLEFLOW_REFERENCE_PYTHON). The leaderboards are written
// from our definitions: in a plain clone they are pointers of Git LFS.
type reference struct {
	t      *testing.T
	dir    string // a copy of the checkout
	python string
	data   string
}

func newReference(t *testing.T) *reference {
	t.Helper()
	checkout, python := os.Getenv("MLEFLOW_REFERENCE"), os.Getenv("MLEFLOW_REFERENCE_PYTHON")
	if checkout == "" || python == "" {
		t.Skip("MLEFLOW_REFERENCE and MLEFLOW_REFERENCE_PYTHON name no checkout of MLE-bench and no Python for it")
	}
	r := &reference{t: t, dir: t.TempDir(), python: python, data: filepath.Join(t.TempDir(), "data")}
	for _, part := range []string{"mlebench", "experiments", "environment"} {
		if err := os.CopyFS(filepath.Join(r.dir, part), os.DirFS(filepath.Join(checkout, part))); err != nil {
			t.Fatal(err)
		}
	}
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []competitions.Set{"all", "dev"} {
		ids, err := catalog.Set(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			r.leaderboard(catalog, id)
		}
	}
	return r
}

func (r *reference) leaderboard(catalog *competitions.Catalog, id string) {
	r.t.Helper()
	def, err := catalog.Get(id)
	if err != nil {
		r.t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("teamId,score\n")
	for i, score := range def.Medals.Scores {
		fmt.Fprintf(&b, "%d,%s\n", i, strconv.FormatFloat(score, 'g', -1, 64))
	}
	if err := os.WriteFile(filepath.Join(r.dir, "mlebench", "competitions", id, "leaderboard.csv"), []byte(b.String()), 0o666); err != nil {
		r.t.Fatal(err)
	}
}

// run runs one of its scripts and returns what that printed.
func (r *reference) run(args ...string) string {
	r.t.Helper()
	cmd := exec.Command(r.python, args...)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "PYTHONPATH="+r.dir)
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// aggregate returns the figures of an experiment by the reference's script.
func (r *reference) aggregate(experiment, split string) map[string]map[string]float64 {
	r.t.Helper()
	_, text, _ := strings.Cut(r.run("experiments/aggregate_grading_reports.py", "--experiment-id", experiment, "--split", split), "seeds:\n")
	var out struct{ Metrics map[string]map[string]float64 }
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		r.t.Fatalf("%v in %s", err, text)
	}
	return out.Metrics
}

// grade grades a run group by the reference's own two commands.
func (r *reference) grade(group string) []map[string]any {
	r.t.Helper()
	list, out := filepath.Join(r.t.TempDir(), "submission.jsonl"), r.t.TempDir()
	r.run("experiments/make_submission.py", "--metadata", filepath.Join(group, "metadata.json"), "--output", list)
	r.run("-m", "mlebench.cli", "grade", "--submission", list, "--output-dir", out, "--data-dir", r.data)
	return reportsIn(r.t, out)
}

// reportsIn reads the one report below a folder, as the reference's fields.
func reportsIn(t *testing.T, dir string) []map[string]any {
	t.Helper()
	path, err := rungroup.Report(dir)
	if err != nil || path == "" {
		t.Fatalf("no report in %s: %v", dir, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for python, plain := range map[string]string{"-Infinity": `"-inf"`, "Infinity": `"inf"`, "NaN": `"nan"`} {
		text = []byte(strings.ReplaceAll(string(text), ": "+python+",", ": "+plain+","))
	}
	var file struct {
		Reports []map[string]any `json:"competition_reports"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Reports
}

// compareReports compares every field that the reference writes, but the time.
func compareReports(t *testing.T, theirs, ours []map[string]any) {
	t.Helper()
	if len(theirs) != len(ours) || len(ours) == 0 {
		t.Fatalf("the reference has %d reports, mleflow %d", len(theirs), len(ours))
	}
	for i, want := range theirs {
		got := map[string]any{"created_at": want["created_at"]}
		for field := range want {
			if field != "created_at" {
				got[field] = ours[i][field]
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("report %d (-reference +mleflow):\n%s", i, diff)
		}
	}
	t.Logf("%d reports are the same", len(ours))
}

// TestRunGroupsAsTheReference grades run groups with MLE-bench and with
// mleflow: one with every submission of the golden cases of the development set,
// and those that mleflow writes of runs of its own.
func TestRunGroupsAsTheReference(t *testing.T) {
	r := newReference(t)
	cases, raw := t.TempDir(), t.TempDir()
	goldenCases(t, cases)
	ids := competitionsOf(t, "dev")
	for _, id := range ids {
		if err := os.Rename(filepath.Join(cases, id, "raw"), filepath.Join(raw, id)); err != nil {
			t.Fatal(err)
		}
	}
	p := &place{t: t, cache: filepath.Join(t.TempDir(), "cache"), file: pipelines + "dev.hcl"}
	p.do("prepare", "--split", "dev", "--raw", raw, "--data-dir", r.data, "--skip-verification")

	t.Run("read", func(t *testing.T) {
		group := layGroup(t, cases, ids)
		out := t.TempDir()
		p.do("grade", "--run-group", group, "--data-dir", r.data, "--output-dir", out)
		compareReports(t, r.grade(group), reportsIn(t, out))
	})
	t.Run("written", func(t *testing.T) {
		runs := filepath.Join(r.dir, "runs")
		p.do("apply", p.file, "-var", "raw="+raw, "-var", "on_mismatch=warn", "-var", "seeds=2", "-var", "cpus=1", "-var", "memory=256MiB")
		p.do("export", "run-group", "latest", "-o", runs, "--experiment-id", "mine")
		groups, err := rungroup.Find(runs)
		if err != nil || len(groups) != 1 {
			t.Fatalf("groups %q: %v", groups, err)
		}
		theirs := r.grade(groups[0])
		p.do("grade", "--run-group", groups[0], "--data-dir", r.data)
		compareReports(t, theirs, reportsIn(t, groups[0]))
		if len(theirs) != 2*len(ids) {
			t.Errorf("%d runs, want %d", len(theirs), 2*len(ids))
		}
		out, errs, _ := p.run("leaderboard", "--experiment-id", "mine", "--runs-dir", runs, "--split", "dev", "--json")
		var board struct {
			Splits map[string]map[string]map[string]float64
		}
		if err := json.Unmarshal([]byte(out), &board); err != nil {
			t.Fatalf("%v\n%s", err, errs)
		}
		figures := r.aggregate("mine", "dev")
		for name, got := range board.Splits["dev"] {
			want := figures[name]
			if got["mean"] != want["mean"] || got["sem"] != want["standard_error"] || got["ci_lower"] != want["ci_lower"] || got["ci_upper"] != want["ci_upper"] {
				t.Errorf("%s is %v, in the reference %v", name, got, want)
			}
		}
		if len(board.Splits["dev"]) != 7 {
			t.Errorf("figures %v", board)
		}
	})
}

// do runs the program, which must succeed.
func (p *place) do(args ...string) {
	p.t.Helper()
	if out, errs, code := p.run(args...); code != 0 {
		p.t.Fatalf("%q: exit status %d\n%s\n%s", args, code, out, errs)
	}
}

// layGroup lays the submissions of golden cases out as a run group, with runs
// that left none. What the reference's grader does not survive (bytes that are
// not a table, which it reads before it starts to catch errors) is not
// there.
func layGroup(t *testing.T, cases string, ids []string) string {
	t.Helper()
	group := filepath.Join(t.TempDir(), "2026-01-02T03-04-05-GMT_run-group_golden")
	var meta rungroup.Metadata
	lay := func(id, what string, from string) {
		run := rungroup.RunName(id, what)
		dir := filepath.Join(group, run, "submission")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if from != "" {
			text, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "submission.csv"), text, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		meta.Runs = append(meta.Runs, rungroup.Record{ID: run})
	}
	for _, id := range ids {
		var expected map[string]struct{ Status string }
		text, err := fs.ReadFile(os.DirFS(cases), id+"/expected.json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &expected); err != nil {
			t.Fatal(err)
		}
		for name, e := range expected {
			if e.Status != "error" {
				lay(id, name, filepath.Join(cases, id, "submissions", name))
			}
		}
		lay(id, "nothing", "")
	}
	if err := rungroup.WriteMetadata(group, meta); err != nil {
		t.Fatal(err)
	}
	return group
}
