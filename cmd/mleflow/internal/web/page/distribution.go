package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/grading"
)

// People is the leaderboard of people at a competition. It is part of every
// record that the parts "legend" and "medal lines" are given.
type People struct {
	ID             string
	LowerIsBetter  bool
	Gold, Silver   float64
	Bronze, Median float64
	// Human are the scores of the teams.
	Human []float64
}

// PeopleOf returns a report's facts about its competition: direction and thresholds, NaN
// without a leaderboard.
func PeopleOf(r grading.Report) People {
	return People{ID: r.CompetitionID, LowerIsBetter: r.LowerIsBetter, Gold: float64(r.Gold), Silver: float64(r.Silver), Bronze: float64(r.Bronze), Median: float64(r.Median)}
}

// level is a threshold and the class of its line.
type level struct {
	value float64
	class string
}

// direction says which scores are better.
func (p People) direction() string {
	return view.Either(p.LowerIsBetter, "lower is better", "higher is better")
}

// thresholds are the values of the levels that there are.
func (p People) thresholds() []float64 {
	return finite([]float64{p.Gold, p.Silver, p.Bronze, p.Median})
}

// levels are the thresholds, the best first.
func (p People) levels() []level {
	return []level{{p.Gold, "gold"}, {p.Silver, "silver"}, {p.Bronze, "bronze"}, {p.Median, "median"}}
}

// Row is the scores of an agent, or of whatever else is compared with people.
type Row struct {
	Name   string
	Scores []float64
}

// AddScores adds scores to the row of a name.
func AddScores(rows []Row, name string, scores ...float64) []Row {
	i := slices.IndexFunc(rows, func(row Row) bool { return row.Name == name })
	if i < 0 {
		i, rows = len(rows), append(rows, Row{Name: name})
	}
	rows[i].Scores = append(rows[i].Scores, scores...)
	return rows
}

// bins is the number of bars of a histogram.
const bins = 36

// The sizes of a drawing of scores, in pixels: the left margin holds names.
const (
	plotWidth, plotLeft, plotRight = 640.0, 150.0, 14.0
	histogramHeight, agentHeight   = 136.0, 22.0
	plotTop, plotBottom            = 8.0, 46.0
)

// distribution draws one competition: the human scores as a histogram, the medal
// thresholds as lines, and below them a row of points per agent.
type distribution struct {
	drawing
	x    scale
	c    People
	rows []Row
	// off reports whether some score is beyond the span; it is drawn at the edge.
	off bool
}

// AmongPeople is a drawing of scores among those of people, with what its legend needs. Plot
// is "" when there are no people; OffScale reports whether a score is beyond its scale.
type AmongPeople struct {
	People
	Plot     template.HTML
	OffScale bool
}

// Distribution draws the scores of people at a competition and, below, those of agents.
func Distribution(c People, rows []Row) AmongPeople {
	s := &distribution{c: c, rows: rows, x: newScale(plotLeft, plotWidth-plotRight)}
	if !s.scale() {
		return AmongPeople{People: c}
	}
	s.open("img", plotWidth, s.bottom()+plotBottom, "plot", "Scores of "+c.ID+" among the human scores")
	s.across(&s.x, s.bottom(), roundTicks(s.x.lo, s.x.hi), Score)
	s.text((s.x.from+s.x.to)/2, s.bottom()+38, 12, "middle", "score ("+c.direction()+")")
	s.histogram()
	s.medals(c, &s.x, s.bottom(), plotTop)
	s.points()
	return AmongPeople{c, s.close(), s.off}
}

// floor is the base of the histogram's bars, and bottom the axis.
func (s *distribution) floor() float64  { return plotTop + histogramHeight }
func (s *distribution) bottom() float64 { return s.rowAt(len(s.rows)) - agentHeight/4 }

// rowAt is the middle of the row of an agent.
func (s *distribution) rowAt(i int) float64 { return s.floor() + agentHeight*(float64(i)+0.85) }

// scale chooses the range of scores: nearly all people, the thresholds, and
// the agents that are not far off.
func (s *distribution) scale() bool {
	human := finite(s.c.Human)
	if len(human) == 0 {
		return false
	}
	slices.Sort(human)
	s.x.lo, s.x.hi = fences(human)
	s.x.include(s.c.thresholds()...)
	near := (s.x.hi - s.x.lo) / 2
	s.x.reach(near, slices.Concat(lists.Of(s.rows, func(row Row) []float64 { return row.Scores })...)...)
	s.x.pad(0.03)
	return true
}

// fences returns Tukey's outer fences of sorted values, three times the interquartile
// range beyond the quartiles, within the range of the values. If half of the values are
// equal, it returns the whole range. Without fences a few outliers would press all other
// teams into one bar.
func fences(sorted []float64) (lo, hi float64) {
	lo, hi = sorted[0], sorted[len(sorted)-1]
	// The lowest value that a quarter, or three, of all do not exceed.
	q1, q3 := sorted[(len(sorted)+3)/4-1], sorted[(3*len(sorted)+3)/4-1]
	if q1 == q3 {
		return lo, hi
	}
	return max(lo, q1-3*(q3-q1)), min(hi, q3+3*(q3-q1))
}

// histogram draws the bars of the human scores.
func (s *distribution) histogram() {
	counts := make([]int, bins)
	width := (s.x.hi - s.x.lo) / bins
	for _, v := range finite(s.c.Human) {
		i := int(math.Floor((v - s.x.lo) / width))
		s.off = s.off || i < 0 || i >= bins
		counts[min(max(i, 0), bins-1)]++
	}
	top := slices.Max(counts)
	s.WriteString(`<path class="area human" d="`)
	for i, n := range counts {
		if n > 0 {
			left, right := s.x.at(s.x.lo+float64(i)*width), s.x.at(s.x.lo+float64(i+1)*width)
			up := s.floor() - histogramHeight*float64(n)/float64(top)
			fmt.Fprintf(s, "M%s %sV%sH%sV%sZ", number(left), number(s.floor()), number(up), number(right), number(s.floor()))
		}
	}
	s.WriteString(`"/>` + "\n")
	s.text(plotLeft-8, plotTop+8, 11, "end", view.Plural(top, "team"))
	s.text(plotLeft-8, s.floor(), 11, "end", "0")
}

// points draws a row of points per agent; scores beyond the scale are triangles at its
// edge.
func (s *distribution) points() {
	for i, row := range s.rows {
		y := s.rowAt(i)
		s.text(plotLeft-8, y+4, 11, "end", clip(row.Name, 20))
		for _, score := range row.Scores {
			if !math.IsNaN(score) {
				s.point(score, y, i%Palette)
			}
		}
	}
}

func (s *distribution) point(value, y float64, color int) {
	if s.x.has(value) {
		fmt.Fprintf(s, `<circle class="area c%d" cx="%s" cy="%s" r="4"/>`+"\n", color, number(s.x.at(value)), number(y))
		return
	}
	s.off = true
	x := view.Either(value > s.x.hi, s.x.to-6, s.x.from+6)
	fmt.Fprintf(s, `<path class="area c%d" d="M%s %sl5 9h-10Z"/>`+"\n", color, number(x), number(y-5))
}
