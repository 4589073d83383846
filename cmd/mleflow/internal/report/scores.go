package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette is the number of colours for agents and kinds in the style sheet.
const palette = 8

// bins is the number of bars of a histogram.
const bins = 36

// scorePlot draws one competition: the human scores as a histogram, the medal
// thresholds as lines, and below them a row of points per agent.
type scorePlot struct {
	c      Competition
	agents []string
	lo, hi float64
	// top is the highest bar, row the distance of the agents' rows.
	top, row float64
	// off says that some score is beyond lo and hi; it is drawn at the edge.
	off bool
}

// drawScores returns the plot of a competition, "" when there is nothing to
// draw, and whether a score is beyond its scale.
func drawScores(c Competition) (drawing template.HTML, offScale bool) {
	s := &scorePlot{c: c, agents: agentsOf(c.Scores)}
	if !s.scale() {
		return "", false
	}
	p := plot.New()
	s.style(p)
	s.histogram(p)
	s.thresholds(p)
	s.points(p)
	canvas := newCanvas(640, vg.Length(190+22*len(s.agents)))
	p.Draw(draw.New(canvas))
	return template.HTML(canvas.svg("Scores of " + c.ID + " among the human scores")), s.off
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
	q1, q3 := stat.Quantile(0.25, stat.Empirical, sorted, nil), stat.Quantile(0.75, stat.Empirical, sorted, nil)
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

func (s *scorePlot) style(p *plot.Plot) {
	p.BackgroundColor = nil
	better := "higher is better"
	if s.c.LowerIsBetter {
		better = "lower is better"
	}
	p.X.Label.Text = "score (" + better + ")"
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Tick.LineStyle.Color = role("ink"), role("ink")
		axis.Label.TextStyle.Color, axis.Tick.Label.Color = role("ink"), role("ink")
		axis.Label.TextStyle.Font.Size, axis.Tick.Label.Font.Size = 12, 11
	}
	p.X.Min, p.X.Max = s.lo, s.hi
	p.X.Tick.Marker = roundTicks(s.lo, s.hi)
	p.Y.Tick.LineStyle.Width = 0
	p.Y.LineStyle.Width = 0
}

// roundTicks marks multiples of 1, 2 or 5 times a power of ten, about six.
func roundTicks(lo, hi float64) plot.ConstantTicks {
	size := math.Pow(10, math.Floor(math.Log10((hi-lo)/6)))
	step := size * 10
	for _, m := range []float64{1, 2, 5} {
		if (hi-lo)/(m*size) <= 7 {
			step = m * size
			break
		}
	}
	var ticks plot.ConstantTicks
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: scoreText(i * step)})
	}
	return ticks
}

// histogram adds the bars of the human scores and, with them, the height that
// everything else is placed by.
func (s *scorePlot) histogram(p *plot.Plot) {
	counts := make([]float64, bins)
	width := (s.hi - s.lo) / bins
	for _, v := range finite(s.c.Human) {
		i := int(math.Floor((v - s.lo) / width))
		s.off = s.off || i < 0 || i >= bins
		counts[min(max(i, 0), bins-1)]++
	}
	s.top = max(1, slices.Max(counts))
	s.row = s.top * 0.19
	bars := &plotter.Polygon{Color: role("human")}
	for i, n := range counts {
		x, next := s.lo+float64(i)*width, s.lo+float64(i+1)*width
		bars.XYs = append(bars.XYs, plotter.XYs{{X: x}, {X: next}, {X: next, Y: n}, {X: x, Y: n}})
	}
	p.Add(bars)
	p.Y.Min, p.Y.Max = -s.row*(float64(len(s.agents))+0.4), s.top*1.05
	s.rows(p)
}

// rows names the rows of agents and the top of the histogram on the axis.
func (s *scorePlot) rows(p *plot.Plot) {
	ticks := plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: s.top, Label: fmt.Sprintf("%d teams", int(s.top))}}
	for i, agent := range s.agents {
		ticks = append(ticks, plot.Tick{Value: s.rowAt(i), Label: clip(agent, 22)})
	}
	p.Y.Tick.Marker = ticks
}

func (s *scorePlot) rowAt(i int) float64 { return -s.row * (float64(i) + 0.85) }

// clip shortens a text to at most n characters.
func clip(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}

func (s *scorePlot) thresholds(p *plot.Plot) {
	for _, t := range []struct {
		value float64
		role  role
		dash  []vg.Length
	}{{s.c.Median, "median", []vg.Length{4, 3}}, {s.c.Bronze, "bronze", nil}, {s.c.Silver, "silver", nil}, {s.c.Gold, "gold", nil}} {
		if len(finite([]float64{t.value})) == 0 {
			continue
		}
		p.Add(&plotter.Line{
			XYs:       plotter.XYs{{X: t.value, Y: p.Y.Min}, {X: t.value, Y: p.Y.Max}},
			LineStyle: draw.LineStyle{Color: t.role, Width: 2, Dashes: t.dash},
		})
	}
}

// points adds a row of points per agent; what is off the scale is drawn at its
// edge as a triangle.
func (s *scorePlot) points(p *plot.Plot) {
	for i, agent := range s.agents {
		within, beyond := s.split(agent, s.rowAt(i))
		color := role(fmt.Sprintf("c%d", i%palette))
		p.Add(
			&plotter.Scatter{XYs: within, GlyphStyle: draw.GlyphStyle{Color: color, Radius: 4, Shape: draw.CircleGlyph{}}},
			&plotter.Scatter{XYs: beyond, GlyphStyle: draw.GlyphStyle{Color: color, Radius: 5, Shape: draw.PyramidGlyph{}}},
		)
	}
}

func (s *scorePlot) split(agent string, y float64) (within, beyond plotter.XYs) {
	for _, score := range s.c.Scores {
		if score.Agent != agent || !score.Scored || math.IsNaN(score.Value) {
			continue
		}
		edge := (s.hi - s.lo) * 0.012
		switch {
		case score.Value < s.lo:
			beyond = append(beyond, plotter.XY{X: s.lo + edge, Y: y})
		case score.Value > s.hi:
			beyond = append(beyond, plotter.XY{X: s.hi - edge, Y: y})
		default:
			within = append(within, plotter.XY{X: score.Value, Y: y})
		}
	}
	s.off = s.off || len(beyond) > 0
	return within, beyond
}
