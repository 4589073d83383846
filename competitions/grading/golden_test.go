package grading_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// goldenFolder holds a case for each competition: answers, submissions and
// what the reference's grader (openai/mle-bench at the commit that the
// definitions name) said of each, with pandas 1.5.3, numpy 1.24.2 and
// scikit-learn 1.2.1 made to behave as pandas 2.2 and scikit-learn 1.5.
const goldenFolder = "../testdata/golden"

// verdict is what expected.json says of a submission. Both "invalid" and
// "error" mean that there is no score.
type verdict struct {
	Status string          `json:"status"`
	Score  *grading.Number `json:"score"`
}

// goldenScores are scores that the cases have wrong, with those that the
// reference's grader gives with numpy 1.26.4; the tests of competitions/prep
// say why.
var goldenScores = map[string]map[string]string{
	"smartphone-decimeter-2022": {"antipode.csv": "20015086.78949"},
}

func TestGoldenSubmissions(t *testing.T) {
	cases, err := filepath.Glob(goldenFolder + "/*.tar.zst")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no golden cases (%v)", err)
	}
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range cases {
		id := strings.TrimSuffix(filepath.Base(path), ".tar.zst")
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			def, err := catalog.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			gradeGolden(t, def, filepath.Join(unpack(t, path), id))
		})
	}
}

func gradeGolden(t *testing.T, def *competitions.Definition, dir string) {
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var verdicts map[string]verdict
	if err := json.Unmarshal(data, &verdicts); err != nil {
		t.Fatal(err)
	}
	if len(verdicts) < 10 {
		t.Errorf("only %d submissions", len(verdicts))
	}
	want, got := map[string]string{}, map[string]string{}
	for name, v := range verdicts {
		want[name] = spell(t, v.Score)
		if right, ok := goldenScores[def.ID][name]; ok {
			want[name] = right
		}
		report, err := grading.Grade(context.Background(), def, metric.All(), grading.Request{
			Submission: filepath.Join(dir, "submissions", name),
			Answers:    filepath.Join(dir, "prepared", def.Layout.Answers),
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got[name] = spell(t, report.Score)
		if (report.Outcome == grading.Scored) != (v.Status == "ok") {
			t.Errorf("%s is %s (%s), want %s", name, report.Outcome, report.Reason, v.Status)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

// spell makes NaN comparable.
func spell(t *testing.T, n *grading.Number) string {
	t.Helper()
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func unpack(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	src := archive.Source{ReaderAt: f, Size: info.Size()}
	if err := archive.Unpack(context.Background(), src, archive.TarZstd, archive.DefaultLimits(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
