package export

import (
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// Record is an attempt with all that is known of it: a row of the table of
// attempts. Unknown values are empty or nil.
type Record struct {
	Run
	// Graded reports whether there is a report. If not, the report holds only
	// competition, version and conditions.
	Graded bool
	// Standing is the degree to which the score was checked; see docs/export.md.
	Standing string

	// RunID and the next fields are of the run; Started is RFC 3339 in UTC.
	RunID, Pipeline, Mleflow, Started string
	// RunName is the name of the run. RunNote and RunTags are people's remarks on it.
	RunName, RunNote string
	RunTags          map[string]string
	// Address is the step that ran the agent, GradeAddress the step that graded.
	Address, GradeAddress string
	// MadeIn is the run that executed the attempt, which may be an earlier one.
	MadeIn string

	Category, Complexity string

	AgentVersion, Image, ImageDigest, Network string
	// Limits and the peak; nil is none or not known.
	TimeLimitSeconds, CPULimit, MemoryLimitBytes, GPULimit, PeakMemoryBytes *float64

	// The digests of the attempt's inputs and outputs.
	Data, Description, Instructions, Submission, ReportDigest, Definition string
	// The keys of the two steps.
	AttemptAction, GradeAction string

	Snapshots []Snapshot
	// Tries are the attempts that a chain counts; nil if there is no chain.
	Tries *Tries
	// Unproven gives the reason why no chain counts the tries at this one; empty if one
	// does, or if nobody looked.
	Unproven string
	// Check holds the findings of rule checks; nil if none looked at the attempt.
	Check *Check
}

// Tries counts the attempts of an agent at a competition that a cache began.
type Tries struct{ Begun, Published, ThrownAway int }

// Snapshot is a graded copy of an attempt's submission, as the output curve of
// the step grade has it.
type Snapshot = grading.Moment

// Percentile is the percentage of the human teams that the score is at least as
// good as; nil if the place is not known.
func Percentile(r grading.Report) *float64 {
	share, ok := r.Percentile()
	if !ok {
		return nil
	}
	share *= 100
	return &share
}

// AsGraded returns the report with what the record says of its attempt.
func (r Record) AsGraded() grading.Graded {
	g := grading.Graded{Report: r.Report, Labels: map[string]string{}, Origin: &grading.Origin{Run: r.Address, WallSeconds: r.Attempt.WallSeconds, Curve: r.Snapshots}}
	maps.Copy(g.Labels, r.Labels)
	g.Labels["agent"] = r.Agent
	if r.Seed != "" {
		g.Labels["seed"] = r.Seed
	}
	if r.Check != nil {
		g.Origin.Checked, g.Origin.WarnedBy = true, r.Check.FoundBy(evidence.Warning)
	}
	return g
}

// Stopped is the report had the attempt been stopped at a time; nil if that is
// not known.
func (r Record) Stopped(at time.Duration) *grading.Report {
	if !r.Graded {
		return nil
	}
	g, err := r.AsGraded().Stopped(at)
	if err != nil {
		return nil
	}
	return &g.Report
}

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
func Attempts(records []Record, stops ...time.Duration) (*table.Table, error) {
	runs := make([]Run, len(records))
	for i, r := range records {
		runs[i] = r.Run
	}
	shared, err := Runs(runs)
	if err != nil {
		return nil, err
	}
	r := rows[Record]{of: records}
	r.text("run", func(r Record) string { return r.RunID })
	r.text("address", func(r Record) string { return r.Address })
	r.columns = append(r.columns, shared.Columns()...)
	costColumns(&r)
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

// costColumns say what the cost rests on. The table of runs, which boards have kept, lacks
// them.
func costColumns(r *rows[Record]) {
	cost := func(name string, of func(Usage) *float64) {
		r.number(name, func(r Record) *float64 {
			if r.Attempt.Usage == nil {
				return nil
			}
			return of(*r.Attempt.Usage)
		})
	}
	cost("estimated_cost_usd", func(u Usage) *float64 { return u.EstimatedUSD })
	cost("list_cost_usd", func(u Usage) *float64 { return u.ListUSD })
}

// scoreColumns hold the report's fields that the table of runs lacks.
func scoreColumns(r *rows[Record]) {
	r.truth("graded", func(r Record) bool { return r.Graded })
	r.text("standing", func(r Record) string { return r.Standing })
	r.truth("any_medal", func(r Record) bool { return Medal(r.Report) != "" })
	r.truth("gold_medal", func(r Record) bool { return r.Report.GoldMedal })
	r.truth("silver_medal", func(r Record) bool { return r.Report.SilverMedal })
	r.truth("bronze_medal", func(r Record) bool { return r.Report.BronzeMedal })
	r.number("percentile", func(r Record) *float64 { return Percentile(r.Report) })
	threshold := func(name string, of func(grading.Thresholds) grading.Cutoff) {
		r.number(name, func(r Record) *float64 {
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
	r.text("flags", func(r Record) string {
		var words []string
		for _, f := range r.Report.Flagged {
			words = append(words, string(f))
		}
		return strings.Join(words, " ")
	})
	r.text("category", func(r Record) string { return r.Category })
	r.text("complexity", func(r Record) string { return r.Complexity })
	r.text("reference_profile", func(r Record) string { return r.Report.Profile })
}

// settingColumns describe the agent and its limits.
func settingColumns(r *rows[Record]) {
	r.text("agent_version", func(r Record) string { return r.AgentVersion })
	r.text("image", func(r Record) string { return r.Image })
	r.text("image_digest", func(r Record) string { return r.ImageDigest })
	r.text("network", func(r Record) string { return r.Network })
	r.number("time_limit_seconds", func(r Record) *float64 { return r.TimeLimitSeconds })
	r.number("cpu_limit", func(r Record) *float64 { return r.CPULimit })
	r.number("memory_limit_bytes", func(r Record) *float64 { return r.MemoryLimitBytes })
	r.number("gpu_limit", func(r Record) *float64 { return r.GPULimit })
	r.number("peak_memory_bytes", func(r Record) *float64 { return r.PeakMemoryBytes })
	tries := func(name string, of func(Tries) int) {
		r.number(name, func(r Record) *float64 {
			if r.Tries == nil {
				return nil
			}
			n := of(*r.Tries)
			return knownInt(&n)
		})
	}
	tries("attempts_begun", func(t Tries) int { return t.Begun })
	tries("attempts_published", func(t Tries) int { return t.Published })
	tries("attempts_thrown_away", func(t Tries) int { return t.ThrownAway })
	r.text("tries_not_provable", func(r Record) string { return r.Unproven })
	r.text("conditions", func(r Record) string { return strings.Join(r.Report.Conditions, " ") })
	r.whole("snapshots", func(r Record) int { return len(r.Snapshots) })
}

// originColumns are the columns for the row's origin, by address and digest.
func originColumns(r *rows[Record]) {
	r.text("pipeline", func(r Record) string { return r.Pipeline })
	r.text("mleflow", func(r Record) string { return r.Mleflow })
	r.typed("started", table.Times, func(r Record) string { return r.Started })
	r.text("made_in", func(r Record) string { return r.MadeIn })
	r.text("grade_address", func(r Record) string { return r.GradeAddress })
	r.text("attempt_action", func(r Record) string { return r.AttemptAction })
	r.text("grade_action", func(r Record) string { return r.GradeAction })
	r.text("data_digest", func(r Record) string { return r.Data })
	r.text("description_digest", func(r Record) string { return r.Description })
	r.text("instructions_digest", func(r Record) string { return r.Instructions })
	r.text("submission_digest", func(r Record) string { return r.Submission })
	r.text("report_digest", func(r Record) string { return r.ReportDigest })
	r.text("definition_digest", func(r Record) string { return r.Definition })
}

// stopColumns hold the results of stopping at a given time.
func stopColumns(r *rows[Record], at time.Duration) {
	suffix := "_at_" + After(at)
	stopped := func(rec Record) (none grading.Report) {
		if s := rec.Stopped(at); s != nil {
			return *s
		}
		return none
	}
	r.text("outcome"+suffix, func(rec Record) string { return string(stopped(rec).Outcome) })
	r.number("score"+suffix, func(rec Record) *float64 { return (*float64)(stopped(rec).ExactScore) })
	r.text("medal"+suffix, func(rec Record) string { return Medal(stopped(rec)) })
}

// saidColumns hold people's remarks on the run.
func saidColumns(r *rows[Record]) {
	r.text("run_name", func(r Record) string { return r.RunName })
	r.text("run_note", func(r Record) string { return r.RunNote })
	r.each("tag_", func(r Record) map[string]string { return r.RunTags }, func(string) bool { return true })
}

// moment is a snapshot as a row.
type moment struct {
	Record
	Snapshot
	best *float64
}

// Snapshots returns the table of snapshots: one row a graded snapshot, in the
// order of the attempts and then of time.
func Snapshots(records []Record) (*table.Table, error) {
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
	r.whole("seconds", func(m moment) int { return int(m.Seconds) })
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
