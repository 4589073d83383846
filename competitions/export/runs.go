package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// Attempt holds the known facts about the origin of a submission.
type Attempt struct {
	Outcome     string   `json:"outcome,omitempty"`
	WallSeconds *float64 `json:"wall_seconds,omitempty"`
	CPUSeconds  *float64 `json:"cpu_seconds,omitempty"`
	// Validations is how often it asked whether a submission is valid.
	Validations *int `json:"validations,omitempty"`
	// Usage is its use of models; nil if unknown.
	Usage *Usage `json:"usage,omitempty"`
}

// Run is one graded run.
type Run struct {
	Agent   string
	Seed    string
	Report  grading.Report
	Margins map[grading.Threshold]grading.Margin
	Attempt Attempt
	// Labels are the labels of the step grade.
	Labels map[string]string
}

// Medal names the report's medal, "" for none.
func Medal(r grading.Report) string {
	if name := r.Best(); name != "none" {
		return name
	}
	return ""
}

// Place is the place of a score among the human teams; behind the last of them there is
// no place.
func Place(rank, teams int) string {
	if rank > teams {
		return fmt.Sprintf("behind all %d", teams)
	}
	return fmt.Sprintf("%d of %d", rank, teams)
}

// labelName is the form of labels that become columns.
var labelName = pattern.New(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// Runs returns the table of runs, in their order.
func Runs(runs []Run) (*table.Table, error) {
	r := rows[Run]{of: runs}
	r.text("agent", func(r Run) string { return r.Agent })
	r.typed("seed", table.Integers, func(r Run) string { return r.Seed })
	r.text("competition", func(r Run) string { return r.Report.CompetitionID })
	r.text("competition_version", func(r Run) string { return r.Report.CompetitionVersion })
	r.text("outcome", func(r Run) string { return string(r.Report.Outcome) })
	r.truth("submission_exists", func(r Run) bool { return r.Report.SubmissionExists })
	r.truth("valid_submission", func(r Run) bool { return r.Report.ValidSubmission })
	r.number("score", func(r Run) *float64 { return (*float64)(r.Report.Score) })
	r.number("exact_score", func(r Run) *float64 { return (*float64)(r.Report.ExactScore) })
	r.truth("is_lower_better", func(r Run) bool { return r.Report.LowerIsBetter })
	r.text("medal", func(r Run) string { return Medal(r.Report) })
	r.truth("above_median", func(r Run) bool { return r.Report.AboveMedian })
	r.number("rank", func(r Run) *float64 { return knownInt(r.Report.Rank) })
	r.number("teams", func(r Run) *float64 {
		if r.Report.Teams == 0 {
			return nil
		}
		return knownInt(&r.Report.Teams)
	})
	for _, name := range grading.AllThresholds() {
		r.number(string(name)+"_margin", func(r Run) *float64 {
			if m, ok := r.Margins[name]; ok {
				return known(m.Score)
			}
			return nil
		})
		r.number(string(name)+"_places", func(r Run) *float64 { return knownInt(r.Margins[name].Places) })
	}
	r.text("rounding_decides", func(r Run) string { return Join(r.Report.RoundingDecides()) })
	r.truth("medal_on_non_finite", func(r Run) bool { return r.Report.MedalOnNonFinite() })
	r.truth("non_finite", func(r Run) bool { return r.Report.HasNonFinite() })
	r.truth("metric_external", func(r Run) bool { return r.Report.MetricExternal })
	attemptColumns(&r)
	r.text("isolation", func(r Run) string { return conditions.Shown(r.Report.Conditions) })
	r.truth("untrusted", func(r Run) bool { return conditions.Untrusted(r.Report.Conditions) })
	r.text("runtime", func(r Run) string { return strings.Join(conditions.Runtimes(r.Report.Conditions), " ") })
	r.text("task", func(r Run) string { return conditions.Told(r.Report.Conditions) })
	r.text("class", func(r Run) string { return conditions.Class(r.Report.Conditions) })
	r.text("no_score", func(r Run) string { return Unscored(r.Report, r.Attempt) })
	r.text("reason", func(r Run) string { return r.Report.Reason })
	tries := func(r Run) int { return conditions.Tries(r.Report.Conditions) }
	if slices.ContainsFunc(runs, func(r Run) bool { return tries(r) > 1 }) {
		r.whole("tries", tries)
	}
	r.each("label_", func(r Run) map[string]string { return r.Labels }, func(name string) bool {
		return name != "agent" && name != "seed" && labelName.Regexp().MatchString(name)
	})
	return table.New(r.columns...)
}
