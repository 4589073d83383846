package export

import (
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// Group is an agent's figures over a split or another group of competitions.
type Group struct {
	Agent        string
	Name         string
	Figures      board.Split
	Seeds        int
	Competitions int
	conditions.Under
	// Class is the class of the attempts; see conditions.Class.
	Class string
	// Measures are the figures with their intervals; the table has these if a group has
	// them.
	Measures map[string]board.Measure
	// Rule is that of the board's benchmark, and Ruled the agent's figure by it; nil without.
	Rule  string
	Ruled *board.Ruled
}

type figure struct {
	Group
	name string
	board.Estimate
	// share reports whether the reference has the figure, with its errors.
	share              bool
	runs, competitions *board.Interval
}

func (f figure) error(n grading.Number) *float64 {
	if !f.share {
		return nil
	}
	return known(n)
}

func end(i *board.Interval, upper bool) *float64 {
	switch {
	case i == nil:
		return nil
	case upper:
		return known(i.Upper)
	}
	return known(i.Lower)
}

// Figures returns the table of figures: one row for an agent, a group and a
// figure, in the order of groups, that of a benchmark's rule first, and of board.MeasureNames.
func Figures(groups []Group) (*table.Table, error) {
	var r rows[figure]
	measured := false
	for _, g := range groups {
		measured = measured || g.Measures != nil || g.Ruled != nil
		if g.Ruled != nil {
			r.of = append(r.of, figure{g, g.Rule, board.Estimate{Mean: g.Ruled.Value}, false, g.Ruled.Runs, g.Ruled.Competitions})
		}
		for _, name := range board.MeasureNames() {
			e, ok := g.Figures[name]
			m, more := g.Measures[name]
			if !ok {
				e.Mean = m.Mean
			}
			if ok || more {
				r.of = append(r.of, figure{g, name, e, ok, m.Runs, m.Competitions})
			}
		}
	}
	r.text("agent", func(f figure) string { return f.Agent })
	r.text("group", func(f figure) string { return f.Group.Name })
	r.text("figure", func(f figure) string { return f.name })
	r.number("mean", func(f figure) *float64 { return known(f.Mean) })
	r.number("sem", func(f figure) *float64 { return f.error(f.SEM) })
	r.number("ci_lower", func(f figure) *float64 { return f.error(f.CILower) })
	r.number("ci_upper", func(f figure) *float64 { return f.error(f.CIUpper) })
	r.whole("seeds", func(f figure) int { return f.Seeds })
	r.whole("competitions", func(f figure) int { return f.Competitions })
	r.text("isolation", func(f figure) string { return f.Isolation })
	r.truth("untrusted", func(f figure) bool { return f.Untrusted })
	r.text("task", func(f figure) string { return f.Task })
	r.text("class", func(f figure) string { return f.Class })
	if measured {
		r.number("runs_lower", func(f figure) *float64 { return end(f.runs, false) })
		r.number("runs_upper", func(f figure) *float64 { return end(f.runs, true) })
		r.number("competitions_lower", func(f figure) *float64 { return end(f.competitions, false) })
		r.number("competitions_upper", func(f figure) *float64 { return end(f.competitions, true) })
	}
	return table.New(r.columns...)
}
