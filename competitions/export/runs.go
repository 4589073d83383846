package export

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// labelName is the form of labels that become columns.
var labelName = pattern.New(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// Runs returns the table of runs, in their order.
func Runs(runs []*results.Attempt) (*table.Table, error) {
	r := rows[*results.Attempt]{of: runs}
	r.text("agent", func(r *results.Attempt) string { return r.Agent })
	r.typed("seed", table.Integers, func(r *results.Attempt) string { return r.Seed })
	r.text("competition", func(r *results.Attempt) string { return r.Report.CompetitionID })
	r.text("competition_version", func(r *results.Attempt) string { return r.Report.CompetitionVersion })
	r.text("outcome", func(r *results.Attempt) string { return string(r.Report.Outcome) })
	r.truth("submission_exists", func(r *results.Attempt) bool { return r.Report.SubmissionExists })
	r.truth("valid_submission", func(r *results.Attempt) bool { return r.Report.ValidSubmission })
	r.number("score", func(r *results.Attempt) *float64 { return (*float64)(r.Report.Score) })
	r.number("exact_score", func(r *results.Attempt) *float64 { return (*float64)(r.Report.ExactScore) })
	r.truth("is_lower_better", func(r *results.Attempt) bool { return r.Report.LowerIsBetter })
	r.text("medal", func(r *results.Attempt) string { return results.Medal(r.Report) })
	r.truth("above_median", func(r *results.Attempt) bool { return r.Report.AboveMedian })
	r.number("rank", func(r *results.Attempt) *float64 { return knownInt(r.Report.Rank) })
	r.number("teams", func(r *results.Attempt) *float64 {
		if r.Report.Teams == 0 {
			return nil
		}
		return knownInt(&r.Report.Teams)
	})
	for _, name := range grading.AllThresholds() {
		r.number(string(name)+"_margin", func(r *results.Attempt) *float64 {
			if m, ok := r.Margins[name]; ok {
				return known(m.Score)
			}
			return nil
		})
		r.number(string(name)+"_places", func(r *results.Attempt) *float64 { return knownInt(r.Margins[name].Places) })
	}
	r.text("rounding_decides", func(r *results.Attempt) string { return Join(r.Report.RoundingDecides()) })
	r.truth("medal_on_non_finite", func(r *results.Attempt) bool { return r.Report.MedalOnNonFinite() })
	r.truth("non_finite", func(r *results.Attempt) bool { return r.Report.HasNonFinite() })
	r.truth("metric_external", func(r *results.Attempt) bool { return r.Report.MetricExternal })
	attemptColumns(&r)
	r.text("isolation", func(r *results.Attempt) string { return conditions.Shown(r.Report.Conditions) })
	r.truth("untrusted", func(r *results.Attempt) bool { return conditions.Untrusted(r.Report.Conditions) })
	r.text("runtime", func(r *results.Attempt) string { return strings.Join(conditions.Runtimes(r.Report.Conditions), " ") })
	r.text("task", func(r *results.Attempt) string { return conditions.Told(r.Report.Conditions) })
	r.text("class", func(r *results.Attempt) string { return r.Class() })
	r.text("no_score", func(r *results.Attempt) string { return r.NoScore() })
	r.text("reason", func(r *results.Attempt) string { return r.Reason() })
	tries := func(r *results.Attempt) int { return conditions.Tries(r.Report.Conditions) }
	if slices.ContainsFunc(runs, func(r *results.Attempt) bool { return tries(r) > 1 }) {
		r.whole("tries", tries)
	}
	r.each("label_", func(r *results.Attempt) map[string]string { return r.Labels }, func(name string) bool {
		return name != "agent" && name != "seed" && labelName.Regexp().MatchString(name)
	})
	return table.New(r.columns...)
}
