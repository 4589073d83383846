package aggregate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
)

// anyResult reports whether some agent has a result with a property.
func (b *Board) anyResult(has func(Result) bool) bool {
	return slices.ContainsFunc(b.Agents, func(a Agent) bool { return slices.ContainsFunc(a.Competitions, has) })
}

// Notes returns the caveats of a board.
func (b *Board) Notes() []string {
	notes := conditions.Notes(b.UnderConditions())
	if aside := results.Uncounted(b.attempts("")).String(); aside != "" {
		notes = append(notes, aside+".")
	}
	if slices.ContainsFunc(b.Entries, func(e Entry) bool { return slices.Contains(e.Report.Flagged, competitions.Crowded) }) {
		notes = append(notes, "crowded: gold and bronze are so close on the human leaderboard that a medal may depend on the last digits of a score; the reports have the numbers.")
	}
	notes = append(notes, b.externalNotes()...)
	notes = append(notes, b.unranked()...)
	notes = append(notes, b.benchmarkNotes()...)
	for _, a := range b.Agents {
		if text := a.missingText(); text != "" {
			counted := "they are not counted"
			if b.PadMissing {
				counted = "they count as failed attempts"
			}
			notes = append(notes, fmt.Sprintf("%s: no report of %s; %s.", a.Name, text, counted))
		}
	}
	notes = append(notes, b.unsubmitted()...)
	for own := range chunks(b.Entries, func(e Entry) string { return e.Agent }) {
		var s board.Standing
		s.File.Reports = lists.Of(own, Entry.graded)
		notes = append(notes, s.Found(own[0].Agent)...)
	}
	for _, e := range b.Entries {
		run := fmt.Sprintf("%s, %s", e.Agent, e.Report.CompetitionID)
		if e.Seed != "" {
			run += ", seed " + e.Seed
		}
		if e.MedalOnNonFinite {
			notes = append(notes, run+": the medal is based on a score that is not finite.")
		}
		if len(e.RoundingDecides) > 0 && e.Report.ExactScore != nil {
			notes = append(notes, fmt.Sprintf("%s: the exact score %v is on the other side of %s than the rounded one, which counts.",
				run, float64(*e.Report.ExactScore), strings.ReplaceAll(export.Join(e.RoundingDecides), " ", " and ")))
		}
	}
	return notes
}

// UnderConditions returns the conditions of the agents' attempts.
func (b *Board) UnderConditions() []conditions.Attempts {
	return lists.Of(lists.Grouped(b.Entries, func(e Entry) string { return e.Agent }), func(own []Entry) conditions.Attempts {
		return conditions.Attempts{Agent: own[0].Agent, Sets: conditionsOf(own)}
	})
}

// externalNotes returns notes on the scores that mleflow did not compute.
func (b *Board) externalNotes() []string {
	return export.ExternalNotes(lists.Of(b.Entries, func(e Entry) grading.Report { return e.Report }))
}

// unranked returns the competitions without a leaderboard.
func (b *Board) unranked() []string {
	ids := competitionsOf(lists.Where(b.Entries, func(e Entry) bool { return e.Report.Unranked() }))
	if len(ids) == 0 || b.Rehearsal {
		return nil
	}
	text := "No leaderboard, so no medals: " + plain.List(ids) + "."
	if !b.Medalless() {
		text += " Shares of medals and above the median are over the other competitions."
	}
	return []string{text}
}

// RuleName is the rule of the board's benchmark; "" without one.
func (b *Board) RuleName() string {
	if b.Benchmark == nil {
		return ""
	}
	return b.Benchmark.Aggregate
}

// RuleNotes say by which rule the board is, and its caveats.
func (b *Board) RuleNotes() (notes []string) {
	if rule := b.Rule(); rule != nil {
		notes = append(notes, rule.Explain())
	}
	return append(notes, b.benchmarkNotes()...)
}

// benchmarkNotes say what the board of a benchmark leaves out, and why an agent has no figure.
func (b *Board) benchmarkNotes() (notes []string) {
	if b.Benchmark == nil {
		return nil
	}
	if b.Outside > 0 {
		notes = append(notes, fmt.Sprintf("Left out: %d reports at competitions that are not of benchmark %s.", b.Outside, b.Benchmark.Name))
	}
	if b.Rule() == nil {
		return append(notes, fmt.Sprintf("A rehearsal has no figure of %s, which compares scores with real ones.", b.Benchmark.Aggregate))
	}
	for _, class := range b.Classes() {
		compared := lists.Where(class, func(a Agent) bool { return a.Ruled != nil })
		for _, a := range class {
			switch {
			case a.Ruled != nil:
			case len(a.Overall.Percentages) == 0:
				notes = append(notes, fmt.Sprintf("%s has no place: it lacks a competition of benchmark %s. pad_missing = true counts what is missing as no submission.", a.Name, b.Benchmark.Name))
			case b.Benchmark.Compares() && len(compared) == 0:
				notes = append(notes, fmt.Sprintf("%s has no place: %s compares agents, and no other of its class has all competitions.", a.Name, b.Benchmark.Aggregate))
			}
		}
	}
	return notes
}

// titled returns the title as a line. That of a rehearsal says so.
func (b *Board) titled(title string) string {
	if b.Rehearsal {
		title = "Rehearsal: " + title
	}
	return plain.Line(title)
}

func (a Agent) missingText() string {
	runs, parts := 0, []string{}
	for _, g := range a.Missing {
		runs += g.Runs
		part := g.Competition
		if len(g.Seeds) > 0 {
			part += " (seed " + strings.Join(g.Seeds, ", ") + ")"
		}
		parts = append(parts, part)
	}
	if runs == 0 {
		return ""
	}
	const most = 5
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("%d more competitions", len(parts)-most))
	}
	return fmt.Sprintf("%d runs: %s", runs, strings.Join(parts, ", "))
}

// Basis says what a comparison rests on.
func Basis(c board.Comparison) string {
	text := fmt.Sprintf("%d and %d runs at %d competitions", c.FirstRuns, c.SecondRuns, c.Competitions)
	if c.Competitions == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	if c.FirstLeft+c.SecondLeft > 0 {
		text += fmt.Sprintf("; %d and %d runs at others are left out", c.FirstLeft, c.SecondLeft)
	}
	return text
}

// ComparisonText explains the columns of ComparisonRows.
const ComparisonText = "The difference is in percentage points; competitions weigh the same. Intervals are of 95 %: over other runs at these competitions, and over other " +
	"competitions and runs. “-” where a competition has one run, and below 5 competitions. p: exact permutation test of the runs within competitions; beside it the " +
	"smallest that is possible with as many successes, and p adjusted for all figures (Holm)."

// ComparisonRows returns a comparison as rows of a table, headers first.
func ComparisonRows(first, second string, c board.Comparison) [][]string {
	rows := [][]string{{"", first, second, "difference", "other runs", "other competitions", "p", "smallest p", "adjusted p"}}
	for _, name := range board.MeasureNames() {
		d, ok := c.Figures[name]
		if !ok {
			continue
		}
		rows = append(rows, []string{
			strings.TrimSuffix(name, "_percentage"), percent(d.First), percent(d.Second), fmt.Sprintf("%+.2f", float64(d.Difference)),
			intervalText(d.Runs), intervalText(d.Competitions), pText(d.P), pText(d.SmallestP), pText(d.AdjustedP),
		})
	}
	return rows
}

func percent(n grading.Number) string { return fmt.Sprintf("%.2f %%", float64(n)) }

func pText(p *grading.Number) string {
	if p == nil {
		return "-"
	}
	return board.PText(*p)
}

func intervalText(i *board.Interval) string {
	if i == nil {
		return "-"
	}
	return fmt.Sprintf("%+.2f to %+.2f", float64(i.Lower), float64(i.Upper))
}
