// Package boards shows leaderboards: as text, JSON, Markdown and tables.
package boards

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Result is a leaderboard to show: one agent, two with their comparisons by split, or all
// agents of a board.
type Result struct {
	Agents      []board.Standing
	Comparisons map[string]*results.Comparison
	Splits      []board.SplitIDs
	Catalog     *competitions.Catalog
	// Board orders all agents, nil where only some are shown.
	Board *aggregate.Board
	// Benchmark is the set and the rule of Board; nil for all competitions.
	Benchmark *board.Benchmark
	// Stopped are the first agent's boards as they would be if its attempts had been
	// stopped early.
	Stopped []board.Stopped
}

// JSON is the leaderboard as JSON: the fixed fields of the first agent's board, and
// further ones.
type JSON struct {
	Agent string `json:"agent"`
	conditions.Under
	Class string `json:"class"` // see conditions.Class
	conditions.Repeats
	board.Board
	// MetricExternal are the competitions whose scores a program computed.
	MetricExternal []string          `json:"metric_external,omitempty"`
	Failures       []grading.Failure `json:"failures,omitempty"` // runs that could not be graded
	// RuleChecks sums up the findings of rules; nil if unknown.
	RuleChecks *board.RuleTally `json:"rule_checks,omitempty"`
	// Integrity counts the attempts by label, with medals if cheating is a success, and if it
	// is a failure.
	Integrity *board.Integrity `json:"integrity,omitempty"`
	// Cost is what the attempts cost, and what a medal cost; nil if that is not known.
	Cost *results.Cost `json:"cost,omitempty"`
	// Place and the next fields are those of the leaderboard of all agents; 0 and nil for
	// an agent alone.
	Place int             `json:"place,omitempty"`
	Tied  bool            `json:"tied,omitempty"`
	Rank  *aggregate.Rank `json:"rank,omitempty"`
	// Ruled is the figure by the rule of Benchmark, that of the board of all agents; nil
	// without one.
	Ruled     *board.Ruled     `json:"benchmark_figure,omitempty"`
	Benchmark *board.Benchmark `json:"benchmark,omitempty"`
	// At are the boards at the times of --at, as if every attempt had been stopped then.
	At         []board.Stopped `json:"at,omitempty"`
	Against    *JSON           `json:"against,omitempty"`
	Comparison *comparisonJSON `json:"comparison,omitempty"`
}

type comparisonJSON struct {
	First  string              `json:"first"`
	Second string              `json:"second"`
	Splits map[string]splitRow `json:"splits"`
}

// splitRow is a comparison over the competitions of a split.
type splitRow struct {
	Sentence string `json:"sentence"`
	board.Comparison
	// MedalsWon are the competitions at which the first agent has more medals for each
	// attempt, MedalsLost those at which it has fewer.
	MedalsWon  []string `json:"medals_won"`
	MedalsLost []string `json:"medals_lost"`
}

// AllJSON is the leaderboard of all agents of a run, in their order.
type AllJSON struct {
	// Benchmark is the set and the rule that order the agents; nil for all competitions.
	Benchmark *board.Benchmark `json:"benchmark,omitempty"`
	Agents    []JSON           `json:"agents"`
}

// Whole makes the board of all agents with reports, under some conditions if any are
// given. A benchmark has its competitions alone.
func (r *Result) Whole(reports []grading.Graded, class []string) (err error) {
	if len(class) > 0 && !slices.Contains(class, conditions.AnyClass) {
		reports = slices.DeleteFunc(slices.Clone(reports), func(g grading.Graded) bool { return !conditions.InClass(g.Conditions, class) })
		if len(reports) == 0 {
			return fmt.Errorf("no attempt was made under %s", strings.Join(class, ", "))
		}
	}
	if r.Board, err = aggregate.BoardOf(reports, r.Catalog, r.Benchmark); err != nil {
		return err
	}
	if r.Benchmark != nil {
		r.Splits = []board.SplitIDs{{Name: r.Benchmark.Name, IDs: r.Board.Competitions()}}
	}
	for _, a := range r.Board.Agents {
		own, _ := r.Board.Graded(a.Name) // a board has reports of each agent
		s := board.Standing{Name: a.Name}
		s.File.Reports, s.Uncounted, _ = board.Counted(own) // without any there are no figures
		s.Board, _ = board.NewBoard(board.AllFlags(s.File.Reports), r.Splits, board.Seeds{})
		r.Agents = append(r.Agents, s)
	}
	return nil
}

// Compare compares the agent with a second one in every split of which both have a
// competition.
func (r *Result) Compare(second board.Standing) error {
	r.Agents, r.Comparisons = append(r.Agents, second), map[string]*results.Comparison{}
	for _, split := range r.Splits {
		c, err := results.Between(side(r.Agents[0]), side(second), split.IDs)
		if err == nil {
			r.Comparisons[split.Name] = c
		}
	}
	if len(r.Comparisons) == 0 {
		return board.ErrNothingShared
	}
	return nil
}

func side(s board.Standing) results.Side { return results.Side{Name: s.Name, Attempts: attemptsOf(s)} }

func attemptsOf(s board.Standing) []*results.Attempt {
	return lists.Of(s.File.Reports, results.OfReport)
}

// All returns the leaderboard of all agents as JSON.
func (r Result) All() AllJSON {
	all := AllJSON{Benchmark: r.Board.Benchmark}
	for i, s := range r.Agents {
		one := Result{Agents: []board.Standing{s}}.JSON()
		own := r.Board.Agents[i]
		one.Place, one.Tied, one.Rank, one.Ruled = own.Place, own.Tied, own.Rank, own.Ruled
		all.Agents = append(all.Agents, one)
	}
	return all
}

// JSON returns the leaderboard of one agent, or of two, as JSON.
func (r Result) JSON() JSON {
	of := func(s board.Standing) JSON {
		return JSON{Agent: s.Name, Repeats: conditions.RepeatsOf(slices.Concat(s.Conditions(nil), s.Uncounted)...), Under: s.Under(nil), Class: s.Class(nil), Board: s.Board, Failures: s.File.Failures, MetricExternal: export.External(s.Reports()), RuleChecks: s.RuleTally(), Integrity: s.Integrity(), Cost: results.CostOf(attemptsOf(s))}
	}
	out := of(r.Agents[0])
	if out.At = r.Stopped; r.Board != nil {
		out.Benchmark, out.Ruled = r.Board.Benchmark, r.Board.Agents[0].Ruled
	}
	if len(r.Agents) > 1 {
		other := of(r.Agents[1])
		out.Against, out.Comparison = &other, &comparisonJSON{r.Agents[0].Name, r.Agents[1].Name, map[string]splitRow{}}
		for name, c := range r.Comparisons {
			out.Comparison.Splits[name] = splitRow{c.Sentence(), c.Comparison, slices.Concat([]string{}, c.Won), slices.Concat([]string{}, c.Lost)}
		}
	}
	return out
}

// notes returns the remarks that a reader of the scores needs.
func (r Result) notes() []string {
	all := lists.Of(r.Agents, func(s board.Standing) conditions.Attempts {
		return conditions.Attempts{Agent: s.Name, Sets: slices.Concat(s.Conditions(nil), s.Uncounted)}
	})
	reports := slices.Concat(lists.Of(r.Agents, board.Standing.Reports)...)
	notes := append(conditions.Notes(all), export.ExternalNotes(reports)...)
	for _, s := range r.Agents {
		notes = append(notes, s.Found(s.Name)...)
	}
	return notes
}

// runs returns the runs at the competitions of the splits, in report order.
func (r Result) runs() []*results.Attempt {
	var runs []*results.Attempt
	for _, s := range r.Agents {
		for _, g := range s.File.Reports {
			if slices.ContainsFunc(r.Splits, func(split board.SplitIDs) bool { return slices.Contains(split.IDs, g.CompetitionID) }) {
				run := aggregate.NewEntry(g, r.Catalog).Known()
				run.Agent = s.Name
				runs = append(runs, run)
			}
		}
	}
	return runs
}

// Labels are the columns of a Markdown row that its author supplies.
type Labels struct{ Models, Hours, Date string }

func (r Result) rows(o Labels) []export.Row {
	var rows []export.Row
	for i, s := range r.Agents {
		row := export.Row{Agent: s.Name, Splits: s.Board.Splits, Hours: cmp.Or(o.Hours, conditions.Hours(s.Conditions(nil)...)), Under: s.Under(nil), Class: s.Class(nil), Seeds: s.Board.SeedsPerSplit}
		if r.Board != nil {
			row.Figure = r.Board.Agents[i].Ruled.Cell()
		}
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
	for i, s := range r.Agents {
		for _, split := range r.Splits {
			if figures, ok := s.Board.Splits[split.Name]; ok {
				one := export.Group{Agent: s.Name, Name: split.Name, Figures: figures, Seeds: s.Board.SeedsPerSplit[split.Name], Competitions: len(split.IDs), Under: s.Under(split.IDs), Class: s.Class(split.IDs), Measures: s.Board.Measures[split.Name]}
				if r.Board != nil && slices.Equal(split.IDs, r.Board.Competitions()) {
					one.Rule, one.Ruled = r.Board.RuleName(), r.Board.Agents[i].Ruled
				}
				groups = append(groups, one)
			}
		}
	}
	return export.Figures(groups)
}

// Markdown returns rows for the reference's README.
func (r Result) Markdown(l Labels) string {
	if r.Board == nil {
		return export.Markdown(r.rows(l), r.notes(), "")
	}
	return export.Markdown(r.rows(l), append(r.notes(), r.Board.RuleNotes()...), r.Board.RuleName())
}

// Warn calls warn for omitted attempts and for medals that depend on rounding.
func (r Result) Warn(warn func(title, format string, args ...any)) {
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
}
