package export

import (
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// Group is an agent's figures over a split or another group of competitions.
type Group struct {
	Agent        string
	Name         string
	Figures      board.Split
	Seeds        int
	Competitions int
	// Isolation says how the attempts were isolated; see conditions.Shown.
	Isolation string
	// Untrusted reports whether an attempt was not isolated.
	Untrusted bool
	// Task is the task as the agent got it; see conditions.Told.
	Task string
	// Class is the class of the attempts; see conditions.Class.
	Class string
}

type figure struct {
	Group
	name string
	board.Estimate
}

// Figures returns the table of figures: one row for an agent, a group and a
// figure, in the order of groups and of board.PercentageNames.
func Figures(groups []Group) (*table.Table, error) {
	var r rows[figure]
	for _, g := range groups {
		for _, name := range board.PercentageNames() {
			if e, ok := g.Figures[name]; ok {
				r.of = append(r.of, figure{g, name, e})
			}
		}
	}
	r.text("agent", func(f figure) string { return f.Agent })
	r.text("group", func(f figure) string { return f.Group.Name })
	r.text("figure", func(f figure) string { return f.name })
	r.number("mean", func(f figure) *float64 { return known(f.Mean) })
	r.number("sem", func(f figure) *float64 { return known(f.SEM) })
	r.number("ci_lower", func(f figure) *float64 { return known(f.CILower) })
	r.number("ci_upper", func(f figure) *float64 { return known(f.CIUpper) })
	r.whole("seeds", func(f figure) int { return f.Seeds })
	r.whole("competitions", func(f figure) int { return f.Competitions })
	r.text("isolation", func(f figure) string { return f.Isolation })
	r.truth("untrusted", func(f figure) bool { return f.Untrusted })
	r.text("task", func(f figure) string { return f.Task })
	r.text("class", func(f figure) string { return f.Class })
	return table.New(r.columns...)
}
