package export

import (
	"math"
	"strconv"
	"strings"
	"time"

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

// saidColumns hold people's remarks on the run, and what package results says of the attempt.
func saidColumns(r *rows[*results.Attempt]) {
	r.text("run_name", func(r *results.Attempt) string { return r.RunName })
	r.text("run_note", func(r *results.Attempt) string { return r.RunNote })
	r.text("ended", func(r *results.Attempt) string { text, _ := r.Ended(); return text })
	r.text("program", func(r *results.Attempt) string { return r.Program })
	r.text("runs", func(r *results.Attempt) string { return strings.Join(r.Runs, " ") })
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
}
