package rungroup_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/rungroup"
)

// lay writes files below a new folder.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOutcomes(t *testing.T) {
	const runner = "[2026-01-02 03:04:05,123] [run.py:1] "
	for _, tt := range []struct {
		name, metadata, log string
		submitted           bool
		want                outcome.End
		seconds             float64
	}{
		{name: "submitted", submitted: true, want: outcome.Finished},
		{name: "nothing", want: outcome.NoSubmission},
		{name: "failed around the agent", metadata: `{"success": false}`, submitted: true, want: outcome.MachineFailed},
		{name: "success of another type", metadata: `{"success": "yes"}`, submitted: true, want: outcome.Finished},
		{name: "timed out", log: runner + "[Container] Timed out after 24hrs 0mins 0secs\n" + runner + "Run completed in 86401.25 seconds.\n",
			submitted: true, want: outcome.TimedOut, seconds: 86401.25},
		{name: "timed out on a line of its own", log: "Timed out after 1hrs\n", want: outcome.TimedOut},
		{name: "an agent's words", log: runner + "[Container] step 3: Timed out after 5 s, trying again\n", submitted: true, want: outcome.Finished},
		{name: "long ago in the log", log: "Timed out after 1hrs\n" + strings.Repeat("x\n", 40_000), submitted: true, want: outcome.Finished},
		{name: "ours says it", metadata: `{"success": true, "outcome": "out_of_memory", "wall_seconds": 3}`, want: outcome.OutOfMemory, seconds: 3},
		{name: "an outcome that is none", metadata: `{"outcome": "brilliant"}`, submitted: true, want: outcome.Finished},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.metadata == "" {
				tt.metadata = `{"success": true}`
			}
			files := map[string]string{"metadata.json": `{"runs": {"toy_1": ` + tt.metadata + `}}`, "toy_1/run.log": tt.log}
			if tt.submitted {
				files["toy_1/submission/submission.csv"] = "id\n"
			}
			group, err := rungroup.Open(lay(t, files))
			if err != nil {
				t.Fatal(err)
			}
			run := group.Runs[0]
			if run.Outcome != tt.want || (run.Submission != "") != tt.submitted {
				t.Errorf("outcome %s with submission %q, want %s", run.Outcome, run.Submission, tt.want)
			}
			if tt.seconds != 0 && (run.WallSeconds == nil || *run.WallSeconds != tt.seconds) {
				t.Errorf("took %v, want %v", run.WallSeconds, tt.seconds)
			}
		})
	}
}

// TestOrder keeps the order of the metadata, which decides about seeds, when it
// is read and when it is written.
func TestOrder(t *testing.T) {
	text := `{"run_group":"g","created_at":"","runs":{"z_1":{"success":true},"a_2":{"success":false},"m_3":{}}}`
	var meta rungroup.Metadata
	if err := json.Unmarshal([]byte(text), &meta); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(again)); diff != "" {
		t.Errorf("(-read +written):\n%s", diff)
	}
}

func TestBadMetadata(t *testing.T) {
	for text, want := range map[string]string{
		`{"runs": {"a_1": {}, "a_1": {}}}`:             "there twice",
		`{"runs": {}}`:                                 "names no run",
		`{"runs": 3}`:                                  "neither an object nor a list",
		`{"runs": {"..": {}}}`:                         "not the name of a folder",
		`{"runs": {"a/b_1": {}}}`:                      "not the name of a folder",
		`{"runs": ["/etc_1"]}`:                         "not the name of a folder",
		`{"runs": {"_1": {}}}`:                         "not called",
		`not JSON`:                                     "invalid character",
		"version https://git-lfs.github.com/spec/v1\n": "git lfs pull",
	} {
		if _, err := rungroup.Open(lay(t, map[string]string{"metadata.json": text})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestLinks sees that neither a run's folder nor its submission may lead out.
func TestLinks(t *testing.T) {
	dir := lay(t, map[string]string{
		"outside/submission/submission.csv": "answers",
		"group/metadata.json":               `{"runs": ["toy_folder", "toy_file"]}`,
		"group/toy_file/submission/.keep":   "",
	})
	for link, to := range map[string]string{
		"group/toy_folder":                         "../outside",
		"group/toy_file/submission/submission.csv": "../../../outside/submission/submission.csv",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "group/toy_folder/submission/submission.csv")); link == "group/toy_folder" && string(text) != "answers" {
			t.Fatalf("the link does not lead to the answers: %v", err)
		}
	}
	group, err := rungroup.Open(filepath.Join(dir, "group"))
	if err != nil {
		t.Fatal(err)
	}
	for i, run := range group.Runs {
		if run.Submission != "" || group.Entries()[i].SubmissionPath != "None" {
			t.Errorf("%s: %q is read", run.ID, run.Submission)
		}
	}
}

// TestAddAtOnce adds rows to the list of experiments at once: none is lost.
func TestAddAtOnce(t *testing.T) {
	const rows = 20
	dir := lay(t, map[string]string{"run_group_experiments.csv": "experiment_id,run_group\nbase,no line end"})
	var done sync.WaitGroup
	for i := range rows {
		done.Go(func() {
			if err := rungroup.AddToExperiment(dir, "base", fmt.Sprint("group", i)); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	text, err := os.ReadFile(filepath.Join(dir, "run_group_experiments.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if !strings.Contains(string(text), fmt.Sprintf("\nbase,group%d\n", i)) {
			t.Errorf("group %d is missing in:\n%s", i, text)
		}
	}
}

// TestGroupName gives groups of one second different names if they are of other runs.
func TestGroupName(t *testing.T) {
	started := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	dir := lay(t, map[string]string{
		"2026-01-02T03-04-05-GMT_run-group_aide/metadata.json":      `{"mleflow": {"run": "a"}, "runs": {"toy_1": {}}}`,
		"2026-01-02T03-04-05-GMT_0002_run-group_aide/metadata.json": `{"mleflow": {"run": "b"}, "runs": {"toy_1": {}}}`,
	})
	for _, tt := range []struct{ agent, run, want string }{
		{"aide", "a", "2026-01-02T03-04-05-GMT_run-group_aide"}, // is already there
		{"aide", "b", "2026-01-02T03-04-05-GMT_0002_run-group_aide"},
		{"aide", "c", "2026-01-02T03-04-05-GMT_0003_run-group_aide"},
		{"other", "c", "2026-01-02T03-04-05-GMT_run-group_other"},
	} {
		if got := rungroup.GroupName(dir, started, tt.agent, tt.run); got != tt.want {
			t.Errorf("group of %s in run %s is %s, want %s", tt.agent, tt.run, got, tt.want)
		}
	}
}
