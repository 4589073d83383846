package grade_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/steps/grade"
	"github.com/mleflow/mleflow/steps/steptest"
)

func newBench(t *testing.T, answers string) *steptest.Bench {
	t.Helper()
	cat, err := competitions.Load(fstest.MapFS{"toy/competition.hcl": {Data: []byte(`competition "toy" {
	  title       = "Toy"
	  complexity  = "demo"
	  description = "A toy."
	  answers     = "` + answers + `"
	  sample      = "public/sample_submission.csv"
	  prepare {}
	  grade {
	    metric  = "accuracy"
	    id      = "id"
	    targets = ["y"]
	    require {
	      columns   = ["id", "y"]
	      same_rows = true
	    }
	  }
	  medals { scores = [1, 0.9, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2] }
	}`)}})
	if err != nil {
		t.Fatal(err)
	}
	return steptest.New(grade.Kind(grade.Deps{Catalog: cat, Grader: grading.Local{Metrics: metric.All()}}))
}

const truth = "id,y\n1,a\n2,b\n3,a\n4,b\n"

func values(t *testing.T, b *steptest.Bench, submission cty.Value) map[string]cty.Value {
	return map[string]cty.Value{
		"competition": cty.StringVal("toy"), "submission": submission, "answers": b.Tree(t, map[string]string{"deep/test.csv": truth}),
		"labels": cty.MapVal(map[string]cty.Value{"agent": cty.StringVal("x"), "seed": cty.StringVal("3")}),
	}
}

// The answers as a submission give a warning: somebody had them.
func TestWarnsOfTheAnswers(t *testing.T) {
	for submission, want := range map[string]int{truth: 1, "id,y\n4,b\n1,a\n2,b\n3,a\n": 0} {
		b := newBench(t, "private/deep/test.csv")
		if _, err := b.Run(t, values(t, b, b.Blob(t, submission))); err != nil {
			t.Fatal(err)
		}
		if got := b.Warnings(); len(got) != want || want > 0 && !strings.Contains(got[0], "toy: the submission is the answers") {
			t.Errorf("%q: warnings %q", submission, got)
		}
	}
}

func TestGrades(t *testing.T) {
	b := newBench(t, "private/deep/test.csv")
	right := "id,y\n4,b\n1,a\n2,b\n3,b\n"
	tests := []struct {
		name                   string
		submission             cty.Value
		file                   string
		score, outcome, medals string
		reason                 string
	}{
		{name: "tree", submission: b.Tree(t, map[string]string{"submission.csv": right, "other": "x"}), score: "0.75", outcome: "scored", medals: "bronze"},
		{name: "file", submission: b.Blob(t, right), score: "0.75", outcome: "scored", medals: "bronze"},
		{name: "elsewhere", submission: b.Tree(t, map[string]string{"out/best.csv": truth}), file: "out/best.csv", score: "1", outcome: "scored", medals: "gold"},
		{name: "no file", submission: b.Tree(t, map[string]string{"submission.txt": right}), score: "null", outcome: "missing", medals: "none", reason: "does not exist"},
		{name: "nothing", submission: b.Tree(t, nil), score: "null", outcome: "missing", medals: "none", reason: "does not exist"},
		{name: "folder", submission: b.Tree(t, map[string]string{"submission.csv/x": right}), score: "null", outcome: "missing", medals: "none", reason: "does not exist"},
		{name: "no csv", submission: b.Tree(t, map[string]string{"submission.txt": right}), file: "submission.txt", score: "null", outcome: "missing", medals: "none", reason: ".csv"},
		{name: "rows", submission: b.Blob(t, "id,y\n1,a\n"), score: "null", outcome: "invalid", medals: "none", reason: "rows"},
		{name: "empty", submission: b.Blob(t, ""), score: "null", outcome: "invalid", medals: "none", reason: "missing"},
		{name: "binary", submission: b.Blob(t, "\x00\xff\xfe\x01"), score: "null", outcome: "invalid", medals: "none", reason: "the file cannot be read as a table: read CSV: line 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := values(t, b, tt.submission)
			if tt.file != "" {
				args["file"] = cty.StringVal(tt.file)
			}
			out, err := b.Run(t, args)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{string(out["score"].JSON), string(out["outcome"].JSON), string(out["medal"].JSON)}
			if diff := cmp.Diff([]string{tt.score, `"` + tt.outcome + `"`, `"` + tt.medals + `"`}, got); diff != "" {
				t.Errorf("score, outcome, medal (-want +got):\n%s", diff)
			}
			var report grading.Graded
			text := b.Text(t, out["report"].Ref)
			if err := json.Unmarshal([]byte(text), &report); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(report.Reason, tt.reason) || report.Labels["agent"] != "x" || report.CompetitionID != "toy" {
				t.Errorf("report:\n%s", text)
			}
			again, err := b.Run(t, args)
			if err != nil || again["report"].Ref != out["report"].Ref {
				t.Errorf("a second grading gives another report (%v)", err)
			}
			if strings.Contains(text, "/tmp") || strings.Contains(text, "answers-") {
				t.Errorf("the report names paths of the machine:\n%s", text)
			}
		})
	}
}

// TestReport is the whole report. The golden text was made by this package
// and read through: accuracy 3 of 4, between the third and fourth of ten
// teams, of which the first takes gold, the second silver and the fourth the
// last bronze.
func TestReport(t *testing.T) {
	b := newBench(t, "private/deep/test.csv")
	out, err := b.Run(t, values(t, b, steptest.Under(b.Blob(t, "id,y\n4,b\n1,a\n2,b\n3,b\n"), "isolation=none", "runtime=process", "task=own")))
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "competition_id": "toy",
  "score": 0.75,
  "gold_threshold": 1.0,
  "silver_threshold": 0.9,
  "bronze_threshold": 0.75,
  "median_threshold": 0.6499999999999999,
  "any_medal": true,
  "gold_medal": false,
  "silver_medal": false,
  "bronze_medal": true,
  "above_median": true,
  "submission_exists": true,
  "valid_submission": true,
  "is_lower_better": false,
  "created_at": "1970-01-01T00:00:00.000000",
  "submission_path": "submission.csv",
  "exact_score": 0.75,
  "outcome": "scored",
  "reason": "",
  "rank": 4,
  "teams": 10,
  "competition_version": "v1",
  "reference_profile": "pandas-2.2 numpy-1.26 scikit-learn-1.5 scipy-1.14",
  "non_finite": false,
  "isolation": "none (untrusted)",
  "untrusted": true,
  "task": "own",
  "conditions": [
    "isolation=none",
    "runtime=process",
    "task=own"
  ],
  "labels": {
    "agent": "x",
    "seed": "3"
  }
}
`
	if diff := cmp.Diff(want, b.Text(t, out["report"].Ref)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestGraderFailures(t *testing.T) {
	b := newBench(t, "private/deep/test.csv")
	args := values(t, b, b.Blob(t, truth))
	args["answers"] = b.Tree(t, map[string]string{"other.csv": truth})
	if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), "find answers") {
		t.Errorf("no answers: got %v", err)
	}
	args = values(t, b, b.Blob(t, truth))
	args["file"] = cty.StringVal("../../etc/passwd")
	if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), "not a path below") {
		t.Errorf("file outside: got %v", err)
	}
	public := newBench(t, "public/test.csv")
	if _, err := public.Run(t, values(t, public, public.Blob(t, truth))); err == nil || !strings.Contains(err.Error(), "not private") {
		t.Errorf("public answers: got %v", err)
	}
}

// TestCurve scores snapshots; the scores are those of TestGrades, 3, 4 and 2
// right of four.
func TestCurve(t *testing.T) {
	b := newBench(t, "private/deep/test.csv")
	args := values(t, b, b.Blob(t, truth))
	plain, err := b.Run(t, args)
	if err != nil || string(plain["curve"].JSON) != "[]" {
		t.Fatalf("without snapshots: %s, %v", plain["curve"].JSON, err)
	}
	args["snapshots"] = b.Tree(t, map[string]string{
		"000000600/submission.csv": "id,y\n4,b\n1,a\n2,b\n3,b\n", "000001200/submission.csv": truth, "000001800/submission.csv": "id,y\n",
		"000002400/submission.csv": truth, "000010000/submission.csv": "id,y\n1,a\n2,b\n3,b\n4,a\n",
	})
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"seconds":600,"outcome":"scored","score":0.75,"medal":"bronze"},{"seconds":1200,"outcome":"scored","score":1,"medal":"gold"},` +
		`{"seconds":1800,"outcome":"invalid","score":null,"medal":"none"},{"seconds":2400,"outcome":"scored","score":1,"medal":"gold"},` +
		`{"seconds":10000,"outcome":"scored","score":0.5,"medal":"none"}]`
	if diff := cmp.Diff(want, string(out["curve"].JSON)); diff != "" {
		t.Errorf("curve (-want +got):\n%s", diff)
	}
	if out["report"].Ref != plain["report"].Ref {
		t.Error("snapshots change the report")
	}
	args["snapshots"] = b.Tree(t, map[string]string{"later/submission.csv": truth})
	if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), "named after a number of seconds") {
		t.Errorf("wrong folder: %v", err)
	}
}

func TestKey(t *testing.T) {
	b := newBench(t, "private/deep/test.csv")
	args := values(t, b, b.Blob(t, truth))
	key := b.Key(t, args)
	args["labels"] = cty.MapVal(map[string]cty.Value{"agent": cty.StringVal("y")})
	if cmp.Equal(key, b.Key(t, args)) {
		t.Error("labels are in the report and not in the key")
	}
	if key["definition"] == "" {
		t.Errorf("the key lacks the definition: %v", key)
	}
}

// A submission without a score, half-written for instance, gives a warning with what
// its last valid snapshot would have had, and the report is as it was.
func TestSpoilt(t *testing.T) {
	snapshots := map[string]string{
		"000000600/submission.csv": truth, "000001200/submission.csv": "id,y\n4,b\n1,a\n2,b\n3,b\n", "000001800/submission.csv": "id,y\n4,b\n1,",
	}
	none := map[string]string{"000001800/submission.csv": "id,y\n4,b\n1,"}
	for _, tt := range []struct {
		name, submission string
		snapshots        map[string]string
		want             string
	}{
		{"half-written", "id,y\n4,b\n1,", snapshots, "toy: the submission is invalid, and the snapshot after 20m0s would have scored 0.75, medal: bronze; the result stays as it is"},
		{"whole", "id,y\n1,a\n2,b\n3,b\n4,a\n", snapshots, ""},
		{"nothing was valid", "id,y\n4,b\n1,", none, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, "private/deep/test.csv")
			args := values(t, b, b.Blob(t, tt.submission))
			plain, err := b.Run(t, args)
			if err != nil || len(b.Warnings()) > 0 {
				t.Fatalf("without snapshots: %q, %v", b.Warnings(), err)
			}
			args["snapshots"] = b.Tree(t, tt.snapshots)
			out, err := b.Run(t, args)
			if err != nil || out["report"].Ref != plain["report"].Ref {
				t.Fatalf("report %v, without snapshots %v; %v", out["report"].Ref, plain["report"].Ref, err)
			}
			if got := strings.Join(b.Warnings(), "\n"); got != tt.want {
				t.Errorf("warned %q, want %q", got, tt.want)
			}
		})
	}
}
