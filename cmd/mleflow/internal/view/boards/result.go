package boards

import (
	"slices"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
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
