package export

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// After writes a time of early stopping for the name of a column: 1h, 90m, 45s.
func After(at time.Duration) string {
	switch {
	case at%time.Hour == 0:
		return strconv.Itoa(int(at/time.Hour)) + "h"
	case at%time.Minute == 0:
		return strconv.Itoa(int(at/time.Minute)) + "m"
	}
	return strconv.FormatFloat(at.Seconds(), 'f', -1, 64) + "s"
}

// Attempts returns the table of attempts, in their order. The columns of the
// table of runs are among its columns, with the same names and meanings. For each
// stop it has columns with the result of stopping the attempt at that time.
func Attempts(records []*results.Attempt, stops ...time.Duration) (*table.Table, error) {
	shared, err := Runs(records)
	if err != nil {
		return nil, err
	}
	r := rows[*results.Attempt]{of: records}
	r.text("run", func(r *results.Attempt) string { return r.RunID })
	r.text("address", func(r *results.Attempt) string { return r.Address })
	r.columns = append(r.columns, shared.Columns()...)
	// The table of runs, which boards have stored, lacks these.
	r.number("estimated_cost_usd", used(func(u *results.Usage) *float64 { return u.EstimatedUSD }))
	r.number("list_cost_usd", used(func(u *results.Usage) *float64 { return u.ListUSD }))
	scoreColumns(&r)
	settingColumns(&r)
	originColumns(&r)
	hourColumns(&r)
	checkColumns(&r)
	saidColumns(&r)
	for _, at := range stops {
		stopColumns(&r, at)
	}
	return table.New(r.columns...)
}

// scoreColumns hold the report's fields that the table of runs lacks.
func scoreColumns(r *rows[*results.Attempt]) {
	r.truth("graded", func(r *results.Attempt) bool { return r.Graded })
	r.text("standing", func(r *results.Attempt) string { return r.Standing })
	r.truth("any_medal", func(r *results.Attempt) bool { return results.Medal(r.Report) != "" })
	r.truth("gold_medal", func(r *results.Attempt) bool { return r.Report.GoldMedal })
	r.truth("silver_medal", func(r *results.Attempt) bool { return r.Report.SilverMedal })
	r.truth("bronze_medal", func(r *results.Attempt) bool { return r.Report.BronzeMedal })
	r.number("percentile", func(r *results.Attempt) *float64 { return results.Percentile(r.Report) })
	threshold := func(name string, of func(grading.Thresholds) grading.Cutoff) {
		r.number(name, func(r *results.Attempt) *float64 {
			if !r.Graded {
				return nil
			}
			limit := of(r.Report.Thresholds)
			if math.IsNaN(float64(limit)) {
				return nil
			}
			return (*float64)(&limit)
		})
	}
	threshold("gold_threshold", func(t grading.Thresholds) grading.Cutoff { return t.Gold })
	threshold("silver_threshold", func(t grading.Thresholds) grading.Cutoff { return t.Silver })
	threshold("bronze_threshold", func(t grading.Thresholds) grading.Cutoff { return t.Bronze })
	threshold("median_threshold", func(t grading.Thresholds) grading.Cutoff { return t.Median })
	r.text("flags", func(r *results.Attempt) string { return Join(r.Report.Flagged) })
	r.text("category", func(r *results.Attempt) string { return r.Category })
	r.text("complexity", func(r *results.Attempt) string { return r.Complexity })
	r.text("reference_profile", func(r *results.Attempt) string { return r.Report.Profile })
}

// settingColumns describe the agent and its limits.
func settingColumns(r *rows[*results.Attempt]) {
	r.text("agent_version", func(r *results.Attempt) string { return r.AgentVersion })
	r.text("image", func(r *results.Attempt) string { return r.Image })
	r.text("image_digest", func(r *results.Attempt) string { return r.ImageDigest })
	r.text("network", func(r *results.Attempt) string { return r.Network })
	r.number("time_limit_seconds", func(r *results.Attempt) *float64 { return r.TimeLimitSeconds })
	r.number("cpu_limit", func(r *results.Attempt) *float64 { return r.CPULimit })
	r.number("memory_limit_bytes", func(r *results.Attempt) *float64 { return r.MemoryLimitBytes })
	r.number("gpu_limit", func(r *results.Attempt) *float64 { return r.GPULimit })
	r.number("peak_memory_bytes", func(r *results.Attempt) *float64 { return r.PeakMemoryBytes })
	tries := func(name string, of func(results.Tries) int) {
		r.number(name, func(r *results.Attempt) *float64 {
			if r.Tries == nil {
				return nil
			}
			n := of(*r.Tries)
			return knownInt(&n)
		})
	}
	tries("attempts_begun", func(t results.Tries) int { return t.Begun })
	tries("attempts_published", func(t results.Tries) int { return t.Published })
	tries("attempts_thrown_away", func(t results.Tries) int { return t.ThrownAway })
	r.text("tries_not_provable", func(r *results.Attempt) string { return r.Unproven })
	r.text("by_hand", func(r *results.Attempt) string { return conditions.ByHand(r.Report.Conditions) })
	r.text("conditions", func(r *results.Attempt) string { return strings.Join(r.Report.Conditions, " ") })
	r.whole("snapshots", func(r *results.Attempt) int { return len(r.Snapshots) })
}

// originColumns are the columns for the row's origin, by address and digest.
func originColumns(r *rows[*results.Attempt]) {
	r.text("pipeline", func(r *results.Attempt) string { return r.Pipeline })
	r.text("mleflow", func(r *results.Attempt) string { return r.Mleflow })
	r.typed("started", table.Times, func(r *results.Attempt) string { return r.Started })
	r.text("made_in", func(r *results.Attempt) string { return r.MadeIn })
	r.text("grade_address", func(r *results.Attempt) string { return r.GradeAddress })
	r.text("attempt_action", func(r *results.Attempt) string { return r.AttemptAction })
	r.text("grade_action", func(r *results.Attempt) string { return r.GradeAction })
	r.text("data_digest", func(r *results.Attempt) string { return r.Data })
	r.text("description_digest", func(r *results.Attempt) string { return r.Description })
	r.text("instructions_digest", func(r *results.Attempt) string { return r.Instructions })
	r.text("submission_digest", func(r *results.Attempt) string { return r.Submission })
	r.text("report_digest", func(r *results.Attempt) string { return r.ReportDigest })
	r.text("definition_digest", func(r *results.Attempt) string { return r.Definition })
}

// hourColumns say where the attempt's time went.
func hourColumns(r *rows[*results.Attempt]) {
	for _, part := range []string{"waiting", "placing", "model", "processor", "gpu", "idle", "lost", "not measured"} {
		r.number(strings.ReplaceAll(part, " ", "_")+"_seconds", func(r *results.Attempt) *float64 { return r.Hours.Part(part).Seconds })
	}
	r.number("gpu_hours", func(r *results.Attempt) *float64 {
		if r.Hours == nil {
			return nil
		}
		return &r.Hours.GPUHours
	})
}

// stopColumns hold the results of stopping at a given time.
func stopColumns(r *rows[*results.Attempt], at time.Duration) {
	suffix := "_at_" + After(at)
	stopped := func(rec *results.Attempt) (none grading.Report) {
		if s := rec.Stopped(at); s != nil {
			return *s
		}
		return none
	}
	r.text("outcome"+suffix, func(rec *results.Attempt) string { return string(stopped(rec).Outcome) })
	r.number("score"+suffix, func(rec *results.Attempt) *float64 { return (*float64)(stopped(rec).ExactScore) })
	r.text("medal"+suffix, func(rec *results.Attempt) string { return results.Medal(stopped(rec)) })
}

// saidColumns hold people's remarks on the run, what package results says of the attempt, and
// the validation scores that it asked for.
func saidColumns(r *rows[*results.Attempt]) {
	r.text("run_name", func(r *results.Attempt) string { return r.RunName })
	r.text("run_note", func(r *results.Attempt) string { return r.RunNote })
	r.text("ended", func(r *results.Attempt) string { text, _ := r.Ended(); return text })
	r.text("program", func(r *results.Attempt) string { return r.Program })
	r.text("runs", func(r *results.Attempt) string { return strings.Join(r.Runs, " ") })
	asked := func(of func(results.Queries) *float64) func(*results.Attempt) *float64 {
		return func(r *results.Attempt) *float64 {
			if r.Queries == nil {
				return nil
			}
			return of(*r.Queries)
		}
	}
	r.number("queries_used", asked(func(q results.Queries) *float64 { return knownInt(&q.Used) }))
	r.number("queries_allowed", asked(func(q results.Queries) *float64 { return knownInt(&q.Allowed) }))
	r.number("best_validation_score", asked(func(q results.Queries) *float64 { return q.Best }))
	r.each("tag_", func(r *results.Attempt) map[string]string { return r.RunTags }, func(string) bool { return true })
}

// moment is a snapshot as a row.
type moment struct {
	*results.Attempt
	Snapshot results.Snapshot
	best     *float64
}

// Snapshots returns the table of snapshots: one row a graded snapshot, in the
// order of the attempts and then of time.
func Snapshots(records []*results.Attempt) (*table.Table, error) {
	var r rows[moment]
	for _, rec := range records {
		var best *float64
		for _, s := range rec.Snapshots {
			if s.Score != nil && (best == nil || rec.Report.LowerIsBetter && *s.Score < *best || !rec.Report.LowerIsBetter && *s.Score > *best) {
				best = s.Score
			}
			r.of = append(r.of, moment{rec, s, best})
		}
	}
	r.text("run", func(m moment) string { return m.RunID })
	r.text("address", func(m moment) string { return m.Address })
	r.text("agent", func(m moment) string { return m.Agent })
	r.typed("seed", table.Integers, func(m moment) string { return m.Seed })
	r.text("competition", func(m moment) string { return m.Report.CompetitionID })
	r.text("competition_version", func(m moment) string { return m.Report.CompetitionVersion })
	r.whole("seconds", func(m moment) int { return int(m.Snapshot.Seconds) })
	r.text("outcome", func(m moment) string { return string(m.Snapshot.Outcome) })
	r.number("score", func(m moment) *float64 { return m.Snapshot.Score })
	r.number("best_score", func(m moment) *float64 { return m.best })
	r.truth("is_lower_better", func(m moment) bool { return m.Report.LowerIsBetter })
	r.text("medal", func(m moment) string {
		if m.Snapshot.Medal == "none" {
			return ""
		}
		return m.Snapshot.Medal
	})
	return table.New(r.columns...)
}

// checkColumns hold the findings of rule checks.
func checkColumns(r *rows[*results.Attempt]) {
	count := func(of evidence.Severity) func(*results.Attempt) *float64 {
		return func(r *results.Attempt) *float64 {
			if r.Check == nil {
				return nil
			}
			n := r.Check.Count(of)
			return knownInt(&n)
		}
	}
	names := func(of evidence.Severity) func(*results.Attempt) string {
		return func(r *results.Attempt) string { return strings.Join(r.Check.FoundBy(of), " ") }
	}
	r.truth("checked", func(r *results.Attempt) bool { return r.Check != nil })
	r.number("warnings", count(evidence.Warning))
	r.text("warned_by", names(evidence.Warning))
	r.number("notes", count(evidence.Note))
	r.text("noted_by", names(evidence.Note))
	r.text("integrity", func(r *results.Attempt) string { return string(r.Integrity().Label) })
	r.text("integrity_evidence", func(r *results.Attempt) string {
		i := r.Integrity()
		return strings.Join(append(lists.Of(i.Evidence, func(f evidence.Finding) string { return f.Rule + " " + f.Where() }), i.Unknown...), "; ")
	})
	opened := func(of func(results.Opened) int) func(*results.Attempt) *float64 {
		return func(r *results.Attempt) *float64 {
			if r.Opened == nil || r.Opened.Unknown != "" {
				return nil
			}
			n := of(*r.Opened)
			return knownInt(&n)
		}
	}
	r.number("data_files", opened(func(o results.Opened) int { return o.Files }))
	r.number("data_files_opened", opened(func(o results.Opened) int { return o.Opened }))
}

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

// attemptColumns adds the known facts about the attempts.
func attemptColumns(r *rows[*results.Attempt]) {
	r.text("attempt_outcome", func(r *results.Attempt) string { return string(r.Made.Outcome) })
	r.number("wall_seconds", func(r *results.Attempt) *float64 { return r.Made.WallSeconds })
	r.number("cpu_seconds", func(r *results.Attempt) *float64 { return r.Made.CPUSeconds })
	r.number("validations", func(r *results.Attempt) *float64 { return knownInt(r.Made.Validations) })
	usedText := func(of func(*results.Usage) string) func(*results.Attempt) string {
		return func(r *results.Attempt) string {
			if r.Made.Usage == nil {
				return ""
			}
			return of(r.Made.Usage)
		}
	}
	r.text("model", usedText(func(u *results.Usage) string { return u.Model }))
	r.text("usage_source", usedText(func(u *results.Usage) string { return u.Source }))
	r.number("requests", used(func(u *results.Usage) *float64 { return u.Requests }))
	r.number("input_tokens", used(func(u *results.Usage) *float64 { return u.InputTokens }))
	r.number("cached_input_tokens", used(func(u *results.Usage) *float64 { return u.CachedInputTokens }))
	r.number("output_tokens", used(func(u *results.Usage) *float64 { return u.OutputTokens }))
	r.number("cost_usd", used(func(u *results.Usage) *float64 { return u.CostUSD }))
}

// used returns a figure of the use of models; nil where that is not known.
func used(of func(*results.Usage) *float64) func(*results.Attempt) *float64 {
	return func(r *results.Attempt) *float64 {
		if r.Made.Usage == nil {
			return nil
		}
		return of(r.Made.Usage)
	}
}

// Join lists names in one text.
func Join[S ~string](names []S) string {
	return strings.Join(lists.Of(names, func(name S) string { return string(name) }), " ")
}
