package ui

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// figure is a figure of one comparison.
type figure struct {
	name string
	// second is the side that the first is compared with.
	second *side
	row    []string
	board.Difference
}

// figures arranges the figures of a comparison, what differs most first, and returns those
// that differ.
func (p *pair) figures() (list []figure) {
	p.Basis = aggregate.Basis(p.Comparison.Comparison)
	rows := firstscreen.Figures(p.First, p.Second, p.Comparison.Comparison)
	p.Rows = rows[:1:1]
	for _, name := range board.MeasureNames() {
		f, ok := p.Figures[name]
		if !ok {
			continue
		}
		rows = rows[1:]
		if name = figureName(name); f.Difference == 0 {
			p.Equal = append(p.Equal, fmt.Sprintf("%s (%.1f %%)", name, float64(f.First)))
			continue
		}
		rows[0][0] = name
		list = append(list, figure{name, p.second, rows[0], f})
	}
	sortFigures(list)
	for _, f := range list {
		p.Rows = append(p.Rows, f.row)
	}
	return list
}

func figureName(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "_percentage"), "_", " ")
}

// intervalsOf draws the figures that differ, the largest difference first.
func intervalsOf(figures []figure) template.HTML {
	sortFigures(figures)
	var plotted []page.Estimate
	for _, f := range figures[:min(len(figures), 40)] {
		value := float64(f.Difference.Difference)
		e := page.Estimate{Name: f.name, Value: value, Note: fmt.Sprintf("%+.1f", value), Color: f.second.Color}
		in := f.Competitions
		if in == nil {
			in = f.Runs
		}
		if in != nil {
			e.Lower, e.Upper, e.Known = float64(in.Lower), float64(in.Upper), true
		}
		plotted = append(plotted, e)
	}
	return page.Intervals(plotted, "difference in percentage points, with 95 % intervals")
}

// sortFigures puts the largest differences first.
func sortFigures(list []figure) {
	slices.SortStableFunc(list, func(a, b figure) int {
		return cmp.Compare(math.Abs(float64(b.Difference.Difference)), math.Abs(float64(a.Difference.Difference)))
	})
}
