package boards

import (
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/plugins/data/table"
)

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
