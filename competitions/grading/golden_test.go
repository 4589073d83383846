package grading_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/goldentest"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

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
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range goldentest.IDs(t) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			def, err := catalog.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			gradeGolden(t, def, goldentest.Unpack(t, id))
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
		if (report.Outcome == outcome.Scored) != (v.Status == "ok") {
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
