package grading_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/goldentest"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// unseen are the golden submissions whose verdict needs the sketch.
var unseen = []string{
	// The sample asks for every customer; which of them are scored is nowhere public.
	"h-and-m-personalized-fashion-recommendations/customer-nan.csv",
	"h-and-m-personalized-fashion-recommendations/customer-twice-same.csv",
	"h-and-m-personalized-fashion-recommendations/customer-twice.csv",
	"h-and-m-personalized-fashion-recommendations/floats.csv",
	"h-and-m-personalized-fashion-recommendations/gold.csv",
	"h-and-m-personalized-fashion-recommendations/leading-zeros.csv",
	"h-and-m-personalized-fashion-recommendations/one-article-each.csv",
	"h-and-m-personalized-fashion-recommendations/one-article-leading-zero.csv",
	"h-and-m-personalized-fashion-recommendations/one-article-or-none.csv",
	"h-and-m-personalized-fashion-recommendations/only-scored-customers.csv",
	"h-and-m-personalized-fashion-recommendations/unknown-customers.csv",
	// Nor which rows are.
	"jigsaw-toxic-comment-classification-challenge/nan-in-unscored-row.csv",
	"osic-pulmonary-fibrosis-progression/graded-row-twice.csv",
	"stanford-covid-vaccine/nan-in-unscored-row.csv",
	// Rows are paired by position, and pictures of one day must have one size.
	"uw-madison-gi-tract-image-segmentation/duplicate-id.csv",
	"uw-madison-gi-tract-image-segmentation/ids-all-one-day.csv",
	"uw-madison-gi-tract-image-segmentation/rows-reversed.csv",
	"uw-madison-gi-tract-image-segmentation/shuffled.csv",
	// The sample does not say which breaths are expiratory, and not scored.
	"ventilator-pressure-prediction/expiratory-nan.csv",
	"ventilator-pressure-prediction/inf-expiratory-cell.csv",
	"ventilator-pressure-prediction/nan-expiratory-cell.csv",
	"ventilator-pressure-prediction/text-expiratory-cell.csv",
}

// TestFormOfGolden sees that sample and sketch are enough to tell every submission that
// the reference scores from every one that it does not, and that the public sample alone
// is for all but the unseen.
func TestFormOfGolden(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	differ := map[bool][]string{}
	checked := 0
	t.Run("all", func(t *testing.T) {
		for _, id := range goldentest.IDs(t) {
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				def, err := catalog.Get(id)
				if err != nil {
					t.Fatal(err)
				}
				dir := goldentest.Unpack(t, id)
				sketch := writeSketch(t, def, filepath.Join(dir, "prepared", def.Layout.Answers), dir)
				for _, path := range []string{"", sketch} {
					n, names := checkGolden(t, def, dir, path)
					mu.Lock()
					checked += n
					differ[path != ""] = append(differ[path != ""], names...)
					mu.Unlock()
				}
			})
		}
	})
	slices.Sort(differ[false])
	if diff := cmp.Diff(unseen, differ[false]); diff != "" {
		t.Errorf("submissions whose verdict is not the reference's without a sketch (-want +got):\n%s", diff)
	}
	if len(differ[true]) > 0 || checked < 2*3000 {
		t.Errorf("of %d verdicts these are not the reference's: %v", checked, differ[true])
	}
}

// TestFormOfEqualCells gives every target the same few cells in turn, such as one text
// everywhere: sample and sketch are enough for the grader's verdict on these, too.
func TestFormOfEqualCells(t *testing.T) {
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
			dir := goldentest.Unpack(t, id)
			sample, answers := filepath.Join(dir, "prepared", def.Layout.Sample), filepath.Join(dir, "prepared", def.Layout.Answers)
			form, err := grading.NewForm(def, metric.All(), nil, sample, writeSketch(t, def, answers, dir))
			if err != nil {
				t.Fatal(err)
			}
			for _, cells := range []string{"zebra", "zebra cat", "a b c", "0", "1", "0 1", "1 2 3 4", "True", "True False", "0.5", "1.0", "-3", "inf", "18446744073709551615"} {
				path := equalCells(t, def, sample, strings.Fields(cells))
				report, err := grading.Grade(t.Context(), def, metric.All(), grading.Request{Submission: path, Answers: answers})
				if err != nil {
					t.Fatal(err)
				}
				if err := form.Check(path); (err == nil) != (report.Outcome == outcome.Scored) {
					t.Errorf("%q everywhere: the grader says %s %s, the form %v", cells, report.Outcome, report.Reason, err)
				}
			}
		})
	}
}

// equalCells writes the sample with the cells in turn in each target.
func equalCells(t *testing.T, def *competitions.Definition, sample string, cells []string) string {
	t.Helper()
	plan, diags := grading.Decode(def, metric.All(), nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	rows, err := table.ReadCSVFile(sample, table.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range plan.Targets {
		texts := make([]string, rows.Len())
		for i := range texts {
			texts[i] = cells[i%len(cells)]
		}
		if rows, err = rows.With(table.FromTexts(target, texts, nil)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "submission.csv")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := table.WriteCSV(f, rows, table.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// writeSketch writes the sketch of answers beside the golden sample.
func writeSketch(t *testing.T, def *competitions.Definition, answers, dir string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "sketch.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := grading.WriteSketch(f, def, metric.All(), nil, filepath.Join(dir, "prepared", def.Layout.Sample), answers); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// checkGolden returns the number of golden submissions, and the names of those whose
// verdict differs.
func checkGolden(t *testing.T, def *competitions.Definition, dir, sketch string) (n int, differ []string) {
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var verdicts map[string]verdict
	if err := json.Unmarshal(data, &verdicts); err != nil {
		t.Fatal(err)
	}
	form, err := grading.NewForm(def, metric.All(), nil, filepath.Join(dir, "prepared", def.Layout.Sample), sketch)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range verdicts {
		err := form.Check(filepath.Join(dir, "submissions", name))
		var bad *grading.Invalid
		switch {
		case err != nil && !errors.As(err, &bad):
			t.Errorf("%s: %v", name, err)
		case (err == nil) != (v.Status == "ok"):
			differ = append(differ, def.ID+"/"+name)
		case err != nil && strings.Contains(bad.Reason, "answers"):
			t.Errorf("%s: the reason speaks of answers: %s", name, bad.Reason)
		}
	}
	return len(verdicts), differ
}
