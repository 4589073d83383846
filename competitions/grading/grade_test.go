package grading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// define returns a competition with this grade block and leaderboard.
func define(t *testing.T, grade, scores string) *competitions.Definition {
	t.Helper()
	src := fmt.Sprintf(`competition "toy" {
  title       = "Toy"
  complexity  = "dev"
  description = "A toy."
  answers     = "private/test.csv"
  sample      = "public/sample_submission.csv"
  locals { classes = ["a", "b"] }
  prepare {}
  grade {
%s
  }
  medals { scores = %s }
}
`, grade, scores)
	def, diags := competitions.Parse([]byte(src), "toy", fstest.MapFS{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return def
}

// gradeText grades a submission given as text.
func gradeText(t *testing.T, def *competitions.Definition, answers, submission string) Report {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"answers.csv": answers, "submission.csv": submission}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report, err := Grade(context.Background(), def, metric.All(), Request{
		Submission: filepath.Join(dir, "submission.csv"), Name: "submission.csv",
		Answers: filepath.Join(dir, "answers.csv"), Created: time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC),
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

const accuracyBlock = `
    metric  = "accuracy"
    id      = "id"
    targets = ["label"]
    require {
      same_rows = true
      columns   = ["label", "id"]
      same_ids  = true
    }`

const leaderboard = "[0.99, 0.98, 0.97, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]"

func TestReportJSON(t *testing.T) {
	def := define(t, accuracyBlock, leaderboard)
	report := gradeText(t, def, "id,label\n1,x\n2,y\n3,z\n4,x\n", "id,label\n4,x\n3,z\n2,y\n1,y\n")
	got, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "competition_id": "toy",
  "score": 0.75,
  "gold_threshold": 0.99,
  "silver_threshold": 0.98,
  "bronze_threshold": 0.9,
  "median_threshold": 0.75,
  "any_medal": false,
  "gold_medal": false,
  "silver_medal": false,
  "bronze_medal": false,
  "above_median": false,
  "submission_exists": true,
  "valid_submission": true,
  "is_lower_better": false,
  "created_at": "2026-01-02T03:04:05.678901",
  "submission_path": "submission.csv",
  "exact_score": 0.75,
  "outcome": "scored",
  "reason": "",
  "rank": 6,
  "teams": 10,
  "competition_version": "v1",
  "reference_profile": "pandas-2.2 numpy-1.26 scikit-learn-1.5 scipy-1.14",
  "non_finite": false
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every rule refuses for its own reason, and the first in the file's order
// decides.
func TestRequirements(t *testing.T) {
	const answers = "id,a,b\n1,0,1\n2,1,0\n3,0,1\n"
	const good = "id,a,b\n1,0.25,0.75\n2,0.5,0.5\n3,0,1\n"
	for _, c := range []struct{ name, rules, submission, reason string }{
		{"columns", `columns = ["id", "a", "b"]`, "id,a\n1,1\n", `column "b" is missing`},
		{"exact_columns missing", `exact_columns = true`, "a,b\n1,1\n", `column "id" is missing`},
		{"exact_columns extra", `exact_columns = true`, "id,a,b,c\n1,1,1,1\n", `unexpected column "c" (expected: id, a, b)`},
		{"column_count", `column_count = true`, "id,a,b,c\n1,1,1,1\n", `there are 4 columns; expected 3`},
		{"column_order", `column_order = true`, "id,b,a\n1,1,1\n", `column 2 must be "a"`},
		{"column_order extra", `column_order = true`, "id,a,b,c\n1,1,1,1\n", `unexpected column "c"`},
		{"same_rows", `same_rows = true`, "id,a,b\n1,1,0\n", `there are 1 rows; expected 3`},
		{"not_empty", `not_empty = true`, "id,a,b\n", `the table is empty`},
		{"same_ids", `same_ids = true`, "id,a,b\n3,0,1\n1,0,1\n4,0,1\n", `column "id" does not contain the expected ids: 3 is unknown, repeated, or takes the place of a missing id`},
		{"same_ids text", `same_ids = true`, "id,a,b\nx,0,1\n1,0,1\n2,0,1\n", `column "id" does not contain the expected ids: "1" is unknown, repeated, or takes the place of a missing id`},
		{"same_id_set", `same_id_set = true`, "id,a,b\n1,0,1\n7,0,1\n", `column "id": row 2: 7 is not an expected id`},
		{"same_id_set lacking", `same_id_set = true`, "id,a,b\n1,0,1\n2,0,1\n", `column "id": the id 3 is missing`},
		{"known_ids", `known_ids = true`, "id,a,b\n1,0,1\n,0,1\n", `column "id": row 2: a missing cell is not an expected id`},
		{"all_ids", `all_ids = true`, "id,a,b\n1,0,1\n2,0,1\n4,0,1\n", `column "id": the id 3 is missing`},
		{"unique_ids", `unique_ids = true`, "id,a,b\n1,0,1\n1,0,1\n", `column "id": 1 occurs twice`},
		{"same_id_order", `same_id_order = true`, "id,a,b\n1,0,1\n3,0,1\n2,0,1\n", `column "id": row 2 contains 3 instead of the expected id`},
		{"numeric", `numeric = true`, "id,a,b\n1,0,1\n2,x,1\n3,0,1\n", `column "a": row 2: "x" is not a number`},
		{"text", `text = ["a"]`, good, `column "a": row 1: 0.25 is not a string`},
		{"no_missing", `no_missing = true`, "id,a,b\n1,0,1\n2,,1\n3,0,1\n", `column "a": row 2 has no value`},
		{"finite", `finite = true`, "id,a,b\n1,0,1\n2,inf,1\n3,0,1\n", `column "a": row 2: inf is not a finite number`},
		{"between", `between = [0, 1]`, "id,a,b\n1,0,1\n2,0,-1\n3,0,1\n", `column "b": row 2: -1 is not between 0 and 1`},
		{"between refuses gaps", `between = [0, 1]`, "id,a,b\n1,0,1\n2,0,\n3,0,1\n", `column "b": row 2: a missing cell is not between 0 and 1`},
		{"between above", `between = { max = 1, missing = "skip" }`, "id,a,b\n1,,1\n2,0,1.5\n3,0,1\n", `column "b": row 2: 1.5 is not between -Inf and 1`},
		{"between nothing", "between = [0, 1]\n rows_sum_to = 1\n same_rows = true", "id,a,b\n", `there are 0 rows; expected 3`},
		{"rows_sum_to", `rows_sum_to = 1`, "id,a,b\n1,0,1\n2,0.5,0.75\n3,0,1\n", `row 2 adds up to 1.25; expected 1`},
		{"rows_sum_to decimals", `rows_sum_to = { value = 1, decimals = 2 }`, "id,a,b\n1,0,1\n2,0.5,0.51\n3,0,1\n", `row 2 adds up to 1.01; expected 1`},
		{"rows_sum_to all but id", `rows_sum_to = { value = 1, columns = "all_but_id" }`, "id,a,b,c\n1,0,1,1\n", `row 1 adds up to 2; expected 1`},
		{"first decides", "same_rows = true\n columns = [\"c\"]", "id\n1\n", `there are 1 rows; expected 3`},
		{"first decides, turned", "columns = [\"c\"]\n same_rows = true", "id\n1\n", `column "c" is missing`},
		{"metric refuses", "same_rows = true", "id,a,b\n1,0,1\n2,0,x\n3,0,1\n", `column "b": row 2: "x" is not a number`},
	} {
		t.Run(c.name, func(t *testing.T) {
			def := define(t, "metric = \"log_loss\"\nid = \"id\"\ntargets = classes\nrequire {\n"+c.rules+"\n}", leaderboard)
			if c.name != "text" {
				if r := gradeText(t, def, answers, good); r.Outcome != outcome.Scored && !strings.Contains(c.rules, `"c"`) {
					t.Errorf("a good submission is %s: %s", r.Outcome, r.Reason)
				}
			}
			r := gradeText(t, def, answers, c.submission)
			if r.Outcome != outcome.Invalid || r.Reason != c.reason || r.Score != nil || r.ValidSubmission {
				t.Errorf("got %s, %q, want invalid, %q", r.Outcome, r.Reason, c.reason)
			}
			if name, _, _ := strings.Cut(c.rules, " "); r.Rule != name && c.name != "metric refuses" && c.name != "between nothing" {
				t.Errorf("got rule %q, want %q", r.Rule, name)
			}
		})
	}
}

func TestAlignment(t *testing.T) {
	const answers = "id,label,keep\n1,1,1\n2,2,0\n3,3,1\n4,4,1\n"
	for _, c := range []struct {
		name, block, submission string
		want                    float64
	}{
		{"sorted", `id = "id"`, "id,label\n4,4\n3,0\n2,2\n1,1\n", 0.75},
		{"position", ``, "id,label\n4,1\n3,0\n2,3\n1,4\n", 0.75},
		{"ids need not be the same", `id = "id"`, "id,label\n9,4\n8,3\n7,2\n0,1\n", 1},
		{"only by id", "id = \"id\"\nonly = { column = \"keep\", equals = 1 }", "id,label\n4,4\n2,0\n3,0\n1,1\n", 2. / 3},
		{"only by row", "id = \"id\"\nonly = { column = \"keep\", equals = 1, by = \"row\" }", "id,label\n2,2\n1,1\n3,3\n4,4\n", 2. / 3},
		{"only by label", "id = \"id\"\nonly = { column = \"keep\", equals = 1, by = \"row\" }", "id,label\n3,2,2\n0,1,1\n1,3,3\n2,4,4\n", 2. / 3},
		{"only by labels that repeat", "id = \"id\"\nonly = { column = \"keep\", equals = 1, by = \"row\" }", "id,label\n0,1,1\n0,2,2\n0,3,3\n1,4,4\n", 1. / 3},
		{"only by sum", "id = \"id\"\nonly = { sum = [\"label\", \"keep\"], at_least = 3 }", "id,label\n1,1\n2,2\n3,3\n4,4\n", 1},
		{"join", "id = \"id\"\nalign = \"join\"", "id,label\n4,4\n3,0\n3,3\n1,1\n9,9\n", 0.75},
		{"overlap", "id = \"id\"\nalign = \"overlap\"", "id,label\n4,4\n9,9\n3,3\n2,2\n1,0\n0,0\n", 0.75},
		{"by place", "id = \"id\"\ntargets_by = \"place\"", "id,guess\n1,1\n2,2\n3,3\n4,0\n", 0.75},
	} {
		t.Run(c.name, func(t *testing.T) {
			def := define(t, "metric = \"accuracy\"\ntargets = [\"label\"]\n"+c.block, leaderboard)
			r := gradeText(t, def, answers, c.submission)
			if r.ExactScore == nil || float64(*r.ExactScore) != c.want {
				t.Errorf("got %s %q %v, want %v", r.Outcome, r.Reason, r.ExactScore, c.want)
			}
		})
	}
}

func TestCells(t *testing.T) {
	const answers = "id,label\n1,7\n2,8\n3,9\n"
	const textAnswers = "id,label\n1,x\n2,\n3,nan1\n"
	for _, c := range []struct {
		form, answers, submission string
		want                      float64 // -1: invalid
	}{
		{"raw", answers, "id,label\n1,7\n2,8\n3,x\n", 0},
		{"text", answers, "id,label\n1,7\n2,8\n3,x\n", 2. / 3},
		{"text", answers, "id,label\n1,7\n2,8\n3,\n", 0},
		{"text", textAnswers, "id,label\n1,x\n2,NA\n3,y\n", 2. / 3},
		{"filled", textAnswers, "id,label\n1,x\n2,NA\n3,y\n", 2. / 3},
		{"list", textAnswers, "id,label\n1,x\n2,NA\n3,y\n", 2. / 3},
		{"raw", textAnswers, "id,label\n1,x\n2,NA\n3,y\n", -1},
		{"int", answers, "id,label\n1,7.9\n2, 8 \n3,-9\n", 2. / 3},
		{"int", answers, "id,label\n1,0_7\n2,+8\n3,x\n", -1},
		{"int", answers, "id,label\n1,7\n2,\n3,9\n", -1},
	} {
		def := define(t, "metric = \"accuracy\"\nid = \"id\"\ntargets = [\"label\"]\ncells = \""+c.form+"\"", leaderboard)
		r := gradeText(t, def, c.answers, c.submission)
		got := -1.0
		if r.ExactScore != nil {
			got = float64(*r.ExactScore)
		}
		if got != c.want {
			t.Errorf("%s of %q: got %v (%s), want %v", c.form, c.submission, got, r.Reason, c.want)
		}
	}
}

// Medals compare the rounded score with thresholds that are not rounded, and
// non-finite scores are scores.
func TestStanding(t *testing.T) {
	block := "metric = \"mae\"\nid = \"id\"\ntargets = [\"y\"]"
	for _, c := range []struct {
		name, scores, prediction string
		score, medal             string
		rank                     int
		above, nonFinite         bool
	}{
		{"rounded down to gold", "[0.1, 0.2, 0.3]", "0.100004", "0.1", "gold", 1, true, false},
		{"rounded up past gold", "[0.1, 0.2, 0.3]", "0.100006", "0.10001", "", 2, true, false},
		{"threshold with more decimals", "[0.100001, 0.2, 0.3]", "0.100001", "0.1", "gold", 1, true, false},
		{"on the median", "[0.1, 0.2, 0.3]", "0.2", "0.2", "", 2, false, false},
		{"overflow", "[0.1, 0.2, 0.3]", "1e308", `"inf"`, "", 4, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			def := define(t, block, c.scores)
			answers, submission := "id,y\n1,0\n", "id,y\n1,"+c.prediction+"\n"
			if c.nonFinite {
				answers = "id,y\n" + strings.Repeat("1,0\n", 9)
				submission = "id,y\n" + strings.Repeat("1,"+c.prediction+"\n", 9)
			}
			r := gradeText(t, def, answers, submission)
			score, _ := json.Marshal(r.Score)
			if string(score) != c.score || *r.Rank != c.rank || r.AboveMedian != c.above || r.NonFinite != c.nonFinite || r.GoldMedal != (c.medal == "gold") || r.AnyMedal != (c.medal != "") {
				t.Errorf("got %s rank %d %+v", score, *r.Rank, r.Medals)
			}
			if !r.ValidSubmission || r.Outcome != outcome.Scored || !r.LowerIsBetter {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestMissingSubmission(t *testing.T) {
	def := define(t, accuracyBlock, leaderboard)
	dir := t.TempDir()
	text := filepath.Join(dir, "submission.txt")
	if err := os.WriteFile(text, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "none.csv"), dir, text} {
		r, err := Grade(context.Background(), def, metric.All(), Request{Submission: path, Answers: filepath.Join(dir, "answers.csv")})
		if err != nil || r.Outcome != outcome.Missing || r.SubmissionExists || r.ValidSubmission || r.Reason == "" || r.Rank != nil {
			t.Errorf("%s: got %+v, %v", path, r, err)
		}
	}
	// Without answers a submission cannot be judged: our failure, no report.
	there := filepath.Join(dir, "s.CSV")
	if err := os.WriteFile(there, []byte("id,label\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := Grade(context.Background(), def, metric.All(), Request{Submission: there, Answers: filepath.Join(dir, "answers.csv")}); err == nil {
		t.Errorf("got %+v without answers", r)
	}
}

// A disk that fails is not the submission's fault: no report says that it was
// invalid. Reading the first page of a process's memory fails as a disk does.
func TestUnreadableSubmission(t *testing.T) {
	dir := t.TempDir()
	answers, submission := filepath.Join(dir, "answers.csv"), filepath.Join(dir, "submission.csv")
	if err := os.WriteFile(answers, []byte("id,a\n1,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/proc/self/mem", submission); err != nil {
		t.Fatal(err)
	}
	def := define(t, "metric = \"accuracy\"\n id = \"id\"\n targets = [\"a\"]", "[0.9, 0.5]")
	report, err := Grade(context.Background(), def, metric.All(), Request{Submission: submission, Answers: answers})
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("report %+v, error %v, want %v", report, err, syscall.EIO)
	}
}
