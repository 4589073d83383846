package page

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"math"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// Moment is a score at a time since the start. A score that is not finite is
// drawn as a cross at the bottom: there was a submission without a score.
type Moment struct {
	At    time.Duration
	Score float64
}

// Line is the scores of one attempt over time.
type Line struct {
	Name string
	// Steps selects a line that is constant until the next moment, such as the best score
	// so far; otherwise moments are points.
	Steps   bool
	Moments []Moment
	// Color is an index of the palette.
	Color int
}

// BestSoFar is the line of the best of a line's scores until each moment.
func (l Line) BestSoFar(name string, color int, lower bool) Line {
	best := Line{Name: name, Steps: true, Color: color}
	so := math.NaN()
	for _, m := range l.Moments {
		if math.IsNaN(so) || Better(m.Score, so, lower) {
			so = m.Score
		}
		best.Moments = append(best.Moments, Moment{m.At, so})
	}
	return best
}

// Better reports whether one score is better than another.
func Better(a, b float64, lower bool) bool {
	if lower {
		return a < b
	}
	return a > b
}

// Curves are lines in one plot, with the medal lines of a competition.
type Curves struct {
	People
	Lines []Line
	// Until is the end of the time axis; Marks are times to mark, such as those of early
	// stopping.
	Until time.Duration
	Marks []time.Duration
}

const (
	curveWidth, curveHeight = 760.0, 300.0
	curveLeft, curveRight   = 78.0, 62.0
	curveTop, curveBottom   = 14.0, 44.0
)

// curves is a plot of scores over time that is being drawn.
type curves struct {
	drawing
	span
	Curves
	// wide is the width, 0 for curveWidth.
	wide float64
}

// right is where the plot ends.
func (d *curves) right() float64 { return cmp.Or(d.wide, curveWidth) - curveRight }

// Draw draws the plot: time to the right, better scores above, where lower is
// better upside down. It returns "" when there is no finite score.
func (c Curves) Draw() template.HTML {
	d := &curves{Curves: c, span: emptySpan()}
	if !d.measure() {
		return ""
	}
	d.open("img", curveWidth, curveHeight, "plot curve", "Score over time at "+c.ID)
	d.plot()
	return d.close()
}

// measure finds the range of both axes, and reports whether there is a finite score.
func (d *curves) measure() bool {
	for _, l := range d.Lines {
		for _, m := range l.Moments {
			d.include(m.Score)
			d.Until = max(d.Until, m.At)
		}
	}
	d.Until = max(d.Until, time.Second)
	if !d.some() {
		return false
	}
	d.reach()
	return true
}

func (d *curves) plot() {
	d.axes()
	d.levels()
	for _, l := range d.Lines {
		d.line(l)
	}
}

// reach widens the span to the medal lines that are not far from the scores, so
// that a far one does not press the curve flat.
func (d *curves) reach() {
	all := d.span
	all.include(d.thresholds()...)
	size := max(d.hi-d.lo, (all.hi-all.lo)/4)
	near := span{d.lo - 3*size, d.hi + 3*size}
	for _, t := range d.thresholds() {
		if t >= near.lo && t <= near.hi {
			d.include(t)
		}
	}
	d.pad(0.06)
}

func (d *curves) thresholds() []float64 {
	return finite([]float64{d.Gold, d.Silver, d.Bronze, d.Median})
}

func (d *curves) x(at time.Duration) float64 {
	return curveLeft + float64(at)/float64(d.Until)*(d.right()-curveLeft)
}

func (d *curves) y(score float64) float64 {
	share := (score - d.lo) / (d.hi - d.lo)
	if d.LowerIsBetter {
		share = 1 - share
	}
	return curveHeight - curveBottom - share*(curveHeight-curveTop-curveBottom)
}

func (d *curves) axes() {
	bottom, right := curveHeight-curveBottom, d.right()
	for _, v := range roundTicks(d.lo, d.hi) {
		fmt.Fprintf(d, `<path class="line grid" d="M%s %sH%s"/>`+"\n", number(curveLeft), number(d.y(v)), number(right))
		d.text(curveLeft-8, d.y(v)+4, 11, "end", Score(v))
	}
	d.times(bottom)
	for _, at := range d.Marks {
		if at <= d.Until {
			fmt.Fprintf(d, `<path class="line mark" stroke-dasharray="2 4" d="M%s %sV%s"/>`+"\n", number(d.x(at)), number(bottom), number(curveTop))
		}
	}
	better := d.direction()
	if d.LowerIsBetter {
		better += "; the axis is upside down"
	}
	d.text((curveLeft+right)/2, bottom+38, 12, "middle", "time since the start · score ("+better+")")
}

// times draws the time axis.
func (d *curves) times(bottom float64) {
	fmt.Fprintf(d, `<path class="line ink" d="M%s %sH%s"/>`+"\n", number(curveLeft), number(bottom), number(d.right()))
	step := tickStep(d.Until)
	for at := time.Duration(0); at <= d.Until; at += step {
		fmt.Fprintf(d, `<path class="line ink" d="M%s %sv5"/>`, number(d.x(at)), number(bottom))
		d.text(d.x(at), bottom+18, 11, "middle", briefly(at))
	}
}

// briefly writes a tick of a time axis: "0", "30m", "6h", "1h30m".
func briefly(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < time.Minute:
		return view.Score(d.Seconds()) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// levels draws the medal lines that are in reach, with their names at the right.
// A name that would touch the one before is left out; the legend has it.
func (d *curves) levels() {
	last := math.Inf(-1)
	for _, l := range d.People.levels() {
		if len(d.thresholds()) == 0 || !(l.value >= d.lo && l.value <= d.hi) {
			continue
		}
		y := d.y(l.value)
		fmt.Fprintf(d, `<path class="line %s" stroke-width="1.5" d="M%s %sH%s"/>`+"\n", l.class, number(curveLeft), number(y), number(d.right()))
		if y-last >= 12 {
			d.text(d.right()+6, y+4, 11, "start", l.class)
			last = y
		}
	}
}

func (d *curves) line(l Line) {
	color := l.Color % Palette
	if l.Steps {
		d.steps(l, color)
		return
	}
	for _, m := range l.Moments {
		x := d.x(m.At)
		if len(finite([]float64{m.Score})) == 0 {
			y := curveHeight - curveBottom - 8
			fmt.Fprintf(d, `<path class="line none" stroke-width="1.5" d="M%s %sl6 6m0 -6l-6 6"><title>%s</title></path>`+"\n", number(x-3), number(y), html.EscapeString(view.Duration(m.At)+": no valid score"))
			continue
		}
		fmt.Fprintf(d, `<circle class="area c%d" cx="%s" cy="%s" r="3"><title>%s</title></circle>`+"\n", color, number(x), number(d.y(m.Score)), html.EscapeString(view.Duration(m.At)+": "+Score(m.Score)))
	}
}

// steps draws a line that is constant until the next moment.
func (d *curves) steps(l Line, color int) {
	fmt.Fprintf(d, `<path class="line l%d" stroke-width="2" d="`, color)
	begun := false
	for _, m := range l.Moments {
		if len(finite([]float64{m.Score})) == 0 {
			continue
		}
		if !begun {
			fmt.Fprintf(d, "M%s %s", number(d.x(m.At)), number(d.y(m.Score)))
			begun = true
			continue
		}
		fmt.Fprintf(d, "H%sV%s", number(d.x(m.At)), number(d.y(m.Score)))
	}
	if begun {
		fmt.Fprintf(d, "H%s", number(d.x(d.Until)))
	}
	fmt.Fprintf(d, `"><title>%s</title></path>`+"\n", html.EscapeString(l.Name))
}
