package prep_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/goldentest"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// TestErrataGrade prepares and grades the golden cases as a version of the
// competition does whose errata change the grades: submissions that v1 has
// wrong. A nil score is a submission that is refused.
func TestErrataGrade(t *testing.T) {
	for _, tt := range []struct {
		id, version string
		want        map[string]any
	}{
		// Articles with the zeros of the sample count, those without do not; the score is that of the reference's grader with pandas' texts of seven days.
		{"h-and-m-personalized-fashion-recommendations", "v2", map[string]any{
			"leading-zeros.csv": 0.37484, "gold.csv": 0.0, "one-article-leading-zero.csv": 0.5119, "one-article-each.csv": 0.0,
		}},
		{"osic-pulmonary-fibrosis-progression", "v2", map[string]any{
			"gold.csv": -4.59507, "sample.csv": -16.28313, "half-the-patients.csv": nil, "graded-row-left-out.csv": nil, "no-graded-rows.csv": nil, "duplicate-id.csv": nil,
		}},
		// "gold-molecules-reversed" holds the values of "noisy" in another order.
		{"stanford-covid-vaccine", "v2", map[string]any{
			"gold.csv": 0.0, "gold-shuffled.csv": 0.0, "gold-reversed.csv": 0.0, "gold-sorted-as-text.csv": 0.0,
			"noisy.csv": 0.20173, "gold-molecules-reversed.csv": 0.20173, "wrong-id.csv": nil, "nan-in-scored-row.csv": nil,
		}},
		// The last one matches the pictures without a finding only, one class of seven.
		{"vinbigdata-chest-xray-abnormalities-detection", "v2", map[string]any{"gold.csv": 1.0, "gold-shuffled.csv": 1.0, "as-width-height.csv": 0.14286}},
	} {
		dir := goldentest.Unpack(t, tt.id)
		def, err := shipped(t, tt.id).At(tt.version)
		if err != nil {
			t.Fatal(err)
		}
		out := prepare(t, def, prep.Options{Raw: os.DirFS(filepath.Join(dir, "raw")), Params: goldentest.Params(t, tt.id)})
		got := map[string]any{}
		for name := range tt.want {
			report, err := grading.Grade(t.Context(), def, metric.All(), grading.Request{
				Submission: filepath.Join(dir, "submissions", name), Answers: filepath.Join(out, filepath.FromSlash(def.Layout.Answers)), Params: goldentest.Params(t, tt.id),
			})
			if err != nil {
				t.Fatal(err)
			}
			got[name] = scoreOf(t, report)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s at %s (-want +got):\n%s", tt.id, tt.version, diff)
		}
	}
}
