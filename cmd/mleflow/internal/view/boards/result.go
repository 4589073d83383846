package boards

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Result is a leaderboard to show: one agent, or two with their
// comparisons by split.
type Result struct {
	Agents      []board.Standing
	Comparisons map[string]board.Comparison
	Splits      []board.SplitIDs
	Catalog     *competitions.Catalog
	// Stopped are the first agent's boards had its attempts been stopped early.
	Stopped []board.Stopped
}

// JSON is the leaderboard as JSON: the fields of the first agent's board,
// which are fixed, and what goes beyond.
type JSON struct {
	Agent     string `json:"agent"`
	Isolation string `json:"isolation"` // see conditions.Shown
	Untrusted bool   `json:"untrusted"` // see conditions.Untrusted
	Task      string `json:"task"`      // see conditions.Told
	board.Board
	// MetricExternal are the competitions whose scores a program computed.
	MetricExternal []string          `json:"metric_external,omitempty"`
	Failures       []grading.Failure `json:"failures,omitempty"` // runs that could not be graded
	// RuleChecks sums up what rules found; nil if that is not known.
	RuleChecks *board.RuleTally `json:"rule_checks,omitempty"`
	// At are the boards had every attempt been stopped early, by --at.
	At         []board.Stopped `json:"at,omitempty"`
	Against    *JSON           `json:"against,omitempty"`
	Comparison *comparisonJSON `json:"comparison,omitempty"`
}

type comparisonJSON struct {
	First  string                      `json:"first"`
	Second string                      `json:"second"`
	Splits map[string]board.Comparison `json:"splits"`
}

// JSON returns the leaderboard as JSON.
func (r Result) JSON() JSON {
	of := func(s board.Standing) JSON {
		return JSON{Agent: s.Name, Isolation: s.Isolation(nil), Untrusted: conditions.Untrusted(s.Conditions(nil)...), Task: s.Task(nil), Board: s.Board, Failures: s.File.Failures, MetricExternal: export.External(s.Reports()), RuleChecks: s.RuleTally()}
	}
	out := of(r.Agents[0])
	out.At = r.Stopped
	if len(r.Agents) > 1 {
		other := of(r.Agents[1])
		out.Against, out.Comparison = &other, &comparisonJSON{r.Agents[0].Name, r.Agents[1].Name, r.Comparisons}
	}
	return out
}

// notes say what a reader of the scores must know.
func (r Result) notes() []string {
	var all []conditions.Attempts
	for _, s := range r.Agents {
		all = append(all, conditions.Attempts{Agent: s.Name, Sets: s.Conditions(nil)})
	}
	var reports []grading.Report
	for _, s := range r.Agents {
		reports = append(reports, s.Reports()...)
	}
	notes := append(conditions.Notes(all), export.ExternalNotes(reports)...)
	for _, s := range r.Agents {
		if t := s.RuleTally(); t != nil {
			notes = append(notes, t.Sentence(s.Name))
		}
	}
	return notes
}

// runs returns the runs at the competitions of the splits, in report order.
func (r Result) runs() []export.Run {
	var runs []export.Run
	for _, s := range r.Agents {
		for _, g := range s.File.Reports {
			if slices.ContainsFunc(r.Splits, func(split board.SplitIDs) bool { return slices.Contains(split.IDs, g.CompetitionID) }) {
				run := aggregate.NewEntry(g, r.Catalog).Run()
				run.Agent = s.Name
				runs = append(runs, run)
			}
		}
	}
	return runs
}

// Labels are the columns of a Markdown row that its writer says.
type Labels struct{ Models, Hours, Date string }

func (r Result) rows(o Labels) []export.Row {
	var rows []export.Row
	for i, s := range r.Agents {
		row := export.Row{Agent: s.Name, Splits: s.Board.Splits, Hours: o.Hours, Isolation: s.Isolation(nil), Task: s.Task(nil)}
		for _, g := range s.File.Reports {
			row.Date = max(row.Date, strings.SplitN(g.CreatedAt, "T", 2)[0])
		}
		if i == 0 {
			row.Models = o.Models
			if o.Date != "" {
				row.Date = o.Date
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// Table returns the leaderboard as a table: figures, or runs.
func (r Result) Table(name string) (*table.Table, error) {
	if name == "runs" {
		return export.Runs(r.runs())
	}
	var groups []export.Group
	for _, s := range r.Agents {
		for _, split := range r.Splits {
			if figures, ok := s.Board.Splits[split.Name]; ok {
				groups = append(groups, export.Group{Agent: s.Name, Name: split.Name, Figures: figures, Seeds: s.Board.SeedsPerSplit[split.Name], Competitions: len(split.IDs), Isolation: s.Isolation(split.IDs), Untrusted: conditions.Untrusted(s.Conditions(split.IDs)...), Task: s.Task(split.IDs)})
			}
		}
	}
	return export.Figures(groups)
}

// Markdown returns rows for the reference's README.
func (r Result) Markdown(l Labels) string { return export.Markdown(r.rows(l), r.notes()) }

// Warning is something that a reader of the leaderboard should look at.
type Warning struct{ Title, Text string }

// Warnings tell what was left out and what depends on rounding.
func (r Result) Warnings() (list []Warning) {
	warn := func(title, format string, args ...any) {
		list = append(list, Warning{title, fmt.Sprintf(format, args...)})
	}
	for _, s := range r.Agents {
		for _, split := range r.Splits {
			if why := s.Board.Skipped[split.Name]; why != "" {
				warn("Left out:", "%s: %s", split.Name, why)
			}
		}
		for _, f := range s.File.Failures {
			warn("Not graded:", "line %d: %s: %s; it is not counted", f.Line, f.CompetitionID, f.Reason)
		}
	}
	for _, run := range r.runs() {
		if run.Report.MedalOnNonFinite() {
			warn("Check:", "%s, %s: the medal is based on a score that is not finite", run.Agent, run.Report.CompetitionID)
		}
		if decided := run.Report.RoundingDecides(); len(decided) > 0 {
			warn("Check:", "%s, %s: the exact score %v is on the other side of %s than the rounded one, which counts",
				run.Agent, run.Report.CompetitionID, float64(*run.Report.ExactScore), export.Join(decided))
		}
	}
	return list
}
