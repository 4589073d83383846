package grading

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

func TestReadEntries(t *testing.T) {
	in := strings.Join([]string{
		`# a comment`,
		`  // another`,
		``,
		`{"competition_id": "toy", "submission_path": "a.csv"}`,
		`{"competition_id": "toy", "submission_path": null}`,
		`{"submission_path": "a.csv"}`,
		`not json`,
		`["toy", "a.csv"]`,
		`{"competition_id": "toy", "submission_path": "b.csv", "more": 1}` + "\r",
		`{"competition_id": 5, "submission_path": "b.csv"}`,
	}, "\n")
	entries, failures, err := ReadEntries(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{{Line: 4, CompetitionID: "toy", SubmissionPath: "a.csv"}, {Line: 5, CompetitionID: "toy", SubmissionPath: "None"}, {Line: 9, CompetitionID: "toy", SubmissionPath: "b.csv"}}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantFailures := []Failure{{Line: 6, Reason: "competition_id is missing"}, {Line: 7, Reason: "not a JSON object: invalid character 'o' in literal null (expecting 'u')"},
		{Line: 8, Reason: "not a JSON object: it is a JSON array"}, {Line: 10, Reason: "competition_id is a JSON number, not a string"}}
	if diff := cmp.Diff(wantFailures, failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

// One bad entry of any kind never loses the batch.
func TestGradeAll(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	competition := func(id string) string {
		return `competition "` + id + `" {
  title       = "Toy"
  complexity  = "dev"
  description = "A toy."
  answers     = "private/test.csv"
  sample      = "public/sample_submission.csv"
  prepare {}
  grade {` + accuracyBlock + `
  }
  medals { scores = ` + leaderboard + ` }
}
`
	}
	catalog, err := competitions.Load(fstest.MapFS{
		"toy/competition.hcl":    {Data: []byte(competition("toy"))},
		"absent/competition.hcl": {Data: []byte(competition("absent"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	write("toy/prepared/private/test.csv", "id,label\n1,x\n2,y\n")
	gold := write("gold.csv", "id,label\n1,x\n2,y\n")
	bad := write("bad.csv", "id,label\n1,x\n")
	binary := write("binary.csv", "id,label\n1,\xff\xfe\n2,y\n")
	entries := []Entry{
		{Line: 1, CompetitionID: "toy", SubmissionPath: bad}, {Line: 2, CompetitionID: "toy", SubmissionPath: gold}, {Line: 3, CompetitionID: "none", SubmissionPath: gold}, {Line: 4, CompetitionID: "toy", SubmissionPath: filepath.Join(dir, "no.csv")},
		{Line: 5, CompetitionID: "absent", SubmissionPath: gold}, {Line: 6, CompetitionID: "toy", SubmissionPath: binary}, {Line: 7, CompetitionID: "toy", SubmissionPath: gold},
	}
	batch := Batch{Catalog: catalog, Grader: Local{Metrics: metric.All()}, DataDir: dir, Created: time.Unix(0, 0).UTC()}
	done := 0
	batch.Done = func(Report) { done++ }
	got, err := batch.GradeAll(context.Background(), entries, []Failure{{Line: 9, Reason: "not JSON"}})
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []outcome.Submission
	for _, r := range got.Reports {
		outcomes = append(outcomes, r.Outcome)
	}
	if diff := cmp.Diff([]outcome.Submission{outcome.Invalid, outcome.Scored, outcome.Missing, outcome.Invalid, outcome.Scored}, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	var failed []int
	for _, f := range got.Failures {
		failed = append(failed, f.Line)
	}
	if diff := cmp.Diff([]int{3, 5, 9}, failed); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	counts := []int{got.Runs, got.WithSubmissions, got.Valid, got.Medals, got.Gold, got.Silver, got.Bronze, got.AboveMedian, done}
	if diff := cmp.Diff([]int{5, 4, 2, 2, 2, 0, 0, 2, 5}, counts); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}

	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := batch.GradeAll(cancelled, entries, nil); err == nil {
		t.Error("a cancelled batch gives a summary")
	}
}

// TestWriteFile writes reports of one second one after the other and at once: each
// is kept, and the first has the reference's name.
func TestWriteFile(t *testing.T) {
	dir, created := filepath.Join(t.TempDir(), "reports"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600))
	write := func(text string) {
		path, err := WriteFile(dir, created, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if got, readErr := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s holds %q: %v", path, got, errors.Join(err, readErr))
		}
	}
	write("first")
	write("second")
	var done sync.WaitGroup
	for i := range 10 {
		done.Go(func() { write(fmt.Sprint(i)) })
	}
	done.Wait()
	got, err := filepath.Glob(dir + "/*grading_report*.json")
	if err != nil || len(got) != 12 {
		t.Errorf("%d reports, want 12: %v", len(got), err)
	}
	for i, want := range []string{"", "_0002", "_0003"} {
		if want = "2026-01-02T02-04-05-GMT_grading_report" + want + ".json"; filepath.Base(got[i]) != want {
			t.Errorf("report %d is %s, want %s", i, got[i], want)
		}
	}
}
