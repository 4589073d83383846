package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/template"
)

// palette is the number of colours for agents and kinds in the style sheet.
const palette = 8

// bins is the number of bars of a histogram.
const bins = 36

// The sizes of a drawing of scores, in pixels: the left margin holds names.
const (
	plotWidth, plotLeft, plotRight = 640.0, 150.0, 14.0
	histogramHeight, agentHeight   = 136.0, 22.0
	plotTop, plotBottom            = 8.0, 46.0
)

// scorePlot draws one competition: the human scores as a histogram, the medal
// thresholds as lines, and below them a row of points per agent.
type scorePlot struct {
	c      Competition
	agents []string
	lo, hi float64
	// off says that some score is beyond lo and hi; it is drawn at the edge.
	off bool
	b   strings.Builder
}

// drawScores returns the plot of a competition, "" when there is nothing to
// draw, and whether a score is beyond its scale.
func drawScores(c Competition) (drawing template.Markup, offScale bool) {
	s := &scorePlot{c: c, agents: agentsOf(c.Scores)}
	if !s.scale() {
		return "", false
	}
	s.b.WriteString(svgOpen(plotWidth, s.bottom()+plotBottom, "plot", "Scores of "+c.ID+" among the human scores"))
	s.axis()
	s.histogram()
	s.thresholds()
	s.points()
	s.b.WriteString("</svg>")
	return template.Markup(s.b.String()), s.off
}

// x is where a score is drawn.
func (s *scorePlot) x(score float64) float64 {
	return plotLeft + (score-s.lo)/(s.hi-s.lo)*(plotWidth-plotLeft-plotRight)
}

// floor is where the bars of the histogram stand, and bottom the axis.
func (s *scorePlot) floor() float64  { return plotTop + histogramHeight }
func (s *scorePlot) bottom() float64 { return s.rowAt(len(s.agents)) - agentHeight/4 }

// rowAt is the middle of the row of an agent.
func (s *scorePlot) rowAt(i int) float64 { return s.floor() + agentHeight*(float64(i)+0.85) }

// text writes a word beside, or with anchor middle around, a place.
func (s *scorePlot) text(x, y, size float64, anchor, text string) {
	fmt.Fprintf(&s.b, `<text class="ink" x="%s" y="%s" font-size="%s" text-anchor="%s">%s</text>`+"\n",
		number(x), number(y), number(size), anchor, html.EscapeString(text))
}

// agentsOf lists the agents in the order they first appear.
func agentsOf(scores []Score) []string {
	var agents []string
	for _, s := range scores {
		if !slices.Contains(agents, s.Agent) {
			agents = append(agents, s.Agent)
		}
	}
	return agents
}

// scale chooses the range of scores: nearly all people, the thresholds, and
// the agents that are not far off.
func (s *scorePlot) scale() bool {
	human := finite(s.c.Human)
	if len(human) == 0 {
		return false
	}
	slices.Sort(human)
	s.lo, s.hi = fences(human)
	s.include(s.c.Gold, s.c.Silver, s.c.Bronze, s.c.Median)
	span := (s.hi - s.lo) / 2
	lo, hi := s.lo-span, s.hi+span
	for _, score := range s.c.Scores {
		if score.Scored && score.Value >= lo && score.Value <= hi {
			s.include(score.Value)
		}
	}
	if s.hi == s.lo {
		s.lo, s.hi = s.lo-0.5, s.hi+0.5
	}
	margin := (s.hi - s.lo) * 0.03
	s.lo, s.hi = s.lo-margin, s.hi+margin
	return true
}

// fences returns Tukey's outer fences of sorted values, three times the
// interquartile range beyond the quartiles, within the values' range; all of
// it where half of the values are equal. A few far-off teams would otherwise
// press everybody else into one bar.
func fences(sorted []float64) (lo, hi float64) {
	lo, hi = sorted[0], sorted[len(sorted)-1]
	// The lowest value that a quarter, or three, of all do not exceed.
	q1, q3 := sorted[(len(sorted)+3)/4-1], sorted[(3*len(sorted)+3)/4-1]
	if q1 == q3 {
		return lo, hi
	}
	return max(lo, q1-3*(q3-q1)), min(hi, q3+3*(q3-q1))
}

func (s *scorePlot) include(values ...float64) {
	for _, v := range finite(values) {
		s.lo, s.hi = min(s.lo, v), max(s.hi, v)
	}
}

func finite(values []float64) []float64 {
	var out []float64
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, v)
		}
	}
	return out
}

// axis draws the axis of the scores below everything.
func (s *scorePlot) axis() {
	y := s.bottom()
	fmt.Fprintf(&s.b, `<path class="line ink" d="M%s %sH%s`, number(s.x(s.lo)), number(y), number(s.x(s.hi)))
	ticks := roundTicks(s.lo, s.hi)
	for _, v := range ticks {
		fmt.Fprintf(&s.b, "M%s %sv5", number(s.x(v)), number(y))
	}
	s.b.WriteString(`"/>` + "\n")
	for _, v := range ticks {
		s.text(s.x(v), y+18, 11, "middle", scoreText(v))
	}
	better := "higher is better"
	if s.c.LowerIsBetter {
		better = "lower is better"
	}
	s.text((s.x(s.lo)+s.x(s.hi))/2, y+38, 12, "middle", "score ("+better+")")
}

// roundTicks gives multiples of 1, 2 or 5 times a power of ten, about six.
func roundTicks(lo, hi float64) []float64 {
	size := math.Pow(10, math.Floor(math.Log10((hi-lo)/6)))
	step := size * 10
	for _, m := range []float64{1, 2, 5} {
		if (hi-lo)/(m*size) <= 7 {
			step = m * size
			break
		}
	}
	var ticks []float64
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// histogram draws the bars of the human scores.
func (s *scorePlot) histogram() {
	counts := make([]int, bins)
	width := (s.hi - s.lo) / bins
	for _, v := range finite(s.c.Human) {
		i := int(math.Floor((v - s.lo) / width))
		s.off = s.off || i < 0 || i >= bins
		counts[min(max(i, 0), bins-1)]++
	}
	top := slices.Max(counts)
	s.b.WriteString(`<path class="area human" d="`)
	for i, n := range counts {
		if n > 0 {
			left, right := s.x(s.lo+float64(i)*width), s.x(s.lo+float64(i+1)*width)
			up := s.floor() - histogramHeight*float64(n)/float64(top)
			fmt.Fprintf(&s.b, "M%s %sV%sH%sV%sZ", number(left), number(s.floor()), number(up), number(right), number(s.floor()))
		}
	}
	s.b.WriteString(`"/>` + "\n")
	s.text(plotLeft-8, plotTop+8, 11, "end", view.Plural(top, "team"))
	s.text(plotLeft-8, s.floor(), 11, "end", "0")
}

// clip shortens a text to at most n characters, in the middle: names often
// differ in how they end.
func clip(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n/2]) + "…" + string(runes[len(runes)-(n-n/2-1):])
}

func (s *scorePlot) thresholds() {
	for _, t := range []struct {
		value       float64
		class, dash string
	}{{s.c.Median, "median", ` stroke-dasharray="4 3"`}, {s.c.Bronze, "bronze", ""}, {s.c.Silver, "silver", ""}, {s.c.Gold, "gold", ""}} {
		if len(finite([]float64{t.value})) > 0 {
			fmt.Fprintf(&s.b, `<path class="line %s" stroke-width="2"%s d="M%s %sV%s"/>`+"\n", t.class, t.dash, number(s.x(t.value)), number(s.bottom()), number(plotTop))
		}
	}
}

// points draws a row of points per agent; what is off the scale is drawn at
// its edge as a triangle.
func (s *scorePlot) points() {
	for i, agent := range s.agents {
		y := s.rowAt(i)
		s.text(plotLeft-8, y+4, 11, "end", clip(agent, 22))
		for _, score := range s.c.Scores {
			if score.Agent == agent && score.Scored && !math.IsNaN(score.Value) {
				s.point(score.Value, y, i%palette)
			}
		}
	}
}

func (s *scorePlot) point(value, y float64, color int) {
	if value >= s.lo && value <= s.hi {
		fmt.Fprintf(&s.b, `<circle class="area c%d" cx="%s" cy="%s" r="4"/>`+"\n", color, number(s.x(value)), number(y))
		return
	}
	s.off = true
	x := s.x(s.lo) + 6
	if value > s.hi {
		x = s.x(s.hi) - 6
	}
	fmt.Fprintf(&s.b, `<path class="area c%d" d="M%s %sl5 9h-10Z"/>`+"\n", color, number(x), number(y-5))
}
