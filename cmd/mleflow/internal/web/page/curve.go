package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
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

// curves is a plot of scores over time that is being drawn: time to the right, better scores
// above.
type curves struct {
	drawing
	Curves
	x, y scale
}

func newCurves(c Curves, width float64) *curves {
	d := &curves{Curves: c, x: newScale(curveLeft, width-curveRight), y: newScale(curveHeight-curveBottom, curveTop)}
	if c.LowerIsBetter {
		d.y.from, d.y.to = d.y.to, d.y.from
	}
	return d
}

// Draw draws the plot: time to the right, better scores above, where lower is
// better upside down. It returns "" when there is no finite score.
func (c Curves) Draw() template.HTML {
	d := newCurves(c, curveWidth)
	if !d.measure() {
		return ""
	}
	d.open("img", curveWidth, curveHeight, "plot curve", "Score over time at "+c.ID)
	d.plot()
	return d.close()
}

// measure finds the range of both axes, and reports whether there is a finite score. Medal
// lines are in the range if they are not far from the scores, so that a far one does not press
// the curve flat.
func (d *curves) measure() bool {
	for _, l := range d.Lines {
		for _, m := range l.Moments {
			d.y.include(m.Score)
			d.Until = max(d.Until, m.At)
		}
	}
	d.Until = max(d.Until, time.Second)
	d.x.include(0, float64(d.Until))
	if !d.y.some() {
		return false
	}
	all := d.y.span
	all.include(d.thresholds()...)
	d.y.reach(3*max(d.y.hi-d.y.lo, (all.hi-all.lo)/4), d.thresholds()...)
	d.y.pad(0.06)
	return true
}

func (d *curves) at(t time.Duration) float64 { return d.x.at(float64(t)) }

func (d *curves) plot() {
	const bottom = curveHeight - curveBottom
	d.up(&d.y, d.x.from, d.x.to)
	d.times(bottom)
	for _, at := range d.Marks {
		if at <= d.Until {
			d.path(`class="line mark" stroke-dasharray="2 4"`, "M%s %sV%s", d.at(at), bottom, curveTop)
		}
	}
	better := d.direction() + view.When(d.LowerIsBetter, "; the axis is upside down")
	d.text((d.x.from+d.x.to)/2, bottom+38, 12, "middle", "time since the start · score ("+better+")")
	d.levels()
	for _, l := range d.Lines {
		d.line(l)
	}
}

// times draws the time axis.
func (d *curves) times(bottom float64) {
	var ticks []float64
	step := tickStep(d.Until)
	for at := time.Duration(0); at <= d.Until; at += step {
		ticks = append(ticks, float64(at))
	}
	d.across(&d.x, bottom, ticks, func(v float64) string { return briefly(time.Duration(v)) })
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
		if !d.y.has(l.value) {
			continue
		}
		y := d.y.at(l.value)
		d.path(`class="line `+l.class+`" stroke-width="1.5"`, "M%s %sH%s", d.x.from, y, d.x.to)
		if y-last >= 12 {
			d.text(d.x.to+6, y+4, 11, "start", l.class)
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
		x, title := d.at(m.At), html.EscapeString(view.Duration(m.At)+": "+view.Either(isFinite(m.Score), Score(m.Score), "no valid score"))
		if isFinite(m.Score) {
			fmt.Fprintf(d, `<circle class="area c%d" cx="%s" cy="%s" r="3"><title>%s</title></circle>`+"\n", color, number(x), number(d.y.at(m.Score)), title)
			continue
		}
		y := curveHeight - curveBottom - 8
		fmt.Fprintf(d, `<path class="line none" stroke-width="1.5" d="M%s %sl6 6m0 -6l-6 6"><title>%s</title></path>`+"\n", number(x-3), number(y), title)
	}
}

// steps draws a line that is constant until the next moment.
func (d *curves) steps(l Line, color int) {
	fmt.Fprintf(d, `<path class="line l%d" stroke-width="2" d="`, color)
	begun := false
	for _, m := range l.Moments {
		switch x, y := number(d.at(m.At)), number(d.y.at(m.Score)); {
		case !isFinite(m.Score):
		case begun:
			fmt.Fprintf(d, "H%sV%s", x, y)
		default:
			fmt.Fprintf(d, "M%s %s", x, y)
			begun = true
		}
	}
	fmt.Fprintf(d, `%s"><title>%s</title></path>`+"\n", view.When(begun, "H"+number(d.x.to)), html.EscapeString(l.Name))
}

// Course is what happened in one attempt on one time axis: its scores, and below
// them what it used and did.
type Course struct {
	Curves
	Lanes []Lane
}

// Lane is one quantity or one kind of events over time.
type Lane struct {
	Name string
	// Samples are drawn as an area from zero on. Write writes a value.
	Samples []Sample
	Write   func(float64) string
	// Events are drawn as marks.
	Events []Event
}

// Sample is a value from a time on, until that of the next one.
type Sample struct {
	At    time.Duration
	Value float64
}

// Event is something that happened at a time. Link leads to it, "" to nothing.
type Event struct {
	At         time.Duration
	Text, Link string
	Bad        bool
}

const (
	courseWidth  = 1160.0
	areaHeight   = 58.0
	eventsHeight = 30.0
	laneGap      = 14.0
)

func (l Lane) height() float64 { return view.Either(len(l.Samples) > 0, areaHeight, eventsHeight) }

// Draw draws the course, or returns "" if nothing is known.
func (c Course) Draw() template.HTML {
	d := newCurves(c.Curves, courseWidth)
	for _, l := range c.Lanes {
		for _, s := range l.Samples {
			d.Until = max(d.Until, s.At)
		}
		for _, e := range l.Events {
			d.Until = max(d.Until, e.At)
		}
	}
	scored := d.measure()
	if !scored && len(c.Lanes) == 0 {
		return ""
	}
	top, height := laneGap, 0.0
	if scored {
		top = curveHeight + laneGap
	}
	for _, l := range c.Lanes {
		height += l.height() + laneGap
	}
	bottom := top + height
	d.open("group", courseWidth, bottom+24, "plot course", "The attempt over time"+view.After(" at ", c.ID))
	fmt.Fprintf(d, `<g data-left="%s" data-right="%s" data-until="%d" data-bottom="%s">`+"\n", number(d.x.from), number(d.x.to), d.Until.Milliseconds(), number(bottom))
	if scored {
		d.plot()
		d.scores()
	}
	for _, l := range c.Lanes {
		d.lane(l, top)
		top += l.height() + laneGap
	}
	if len(c.Lanes) > 0 {
		d.times(bottom)
	}
	d.WriteString("</g>")
	return d.close()
}

// scores gives a reader the values of the scores.
func (d *curves) scores() {
	for _, l := range d.Lines {
		scored := lists.Where(l.Moments, func(m Moment) bool { return isFinite(m.Score) })
		read := lists.Of(scored, func(m Moment) Sample { return Sample{m.At, m.Score} })
		d.values(l.Name, read, Score)
		d.WriteString("</g>\n")
	}
}

// values opens a group with the values of a lane, which the script of a page reads.
func (d *curves) values(name string, samples []Sample, write func(float64) string) {
	var times, texts strings.Builder
	for _, s := range samples {
		fmt.Fprintf(&times, "%d ", s.At.Milliseconds())
		texts.WriteString(html.EscapeString(write(s.Value)) + "|")
	}
	fmt.Fprintf(d, `<g data-lane="%s" data-at="%s" data-text="%s">`+"\n", html.EscapeString(name), strings.TrimSpace(times.String()), strings.TrimSuffix(texts.String(), "|"))
}

// lane draws a lane below a height.
func (d *curves) lane(l Lane, top float64) {
	bottom := top + l.height()
	d.text(curveLeft-8, bottom-l.height()/2+4, 12, "end", l.Name)
	d.path(`class="line grid"`, "M%s %sH%s", d.x.from, bottom, d.x.to)
	if len(l.Samples) > 0 {
		d.area(l, top, bottom)
	}
	for _, e := range l.Events {
		d.event(e, (top+bottom)/2)
	}
}

// area draws samples, and writes the largest.
func (d *curves) area(l Lane, top, bottom float64) {
	most := 0.0
	for _, s := range l.Samples {
		most = max(most, s.Value)
	}
	d.values(l.Name, l.Samples, l.Write)
	fmt.Fprintf(d, `<path class="lane" d="M%s %s`, number(d.at(l.Samples[0].At)), number(bottom))
	for i, s := range l.Samples {
		if i > 0 {
			fmt.Fprintf(d, "H%s", number(d.at(s.At)))
		}
		fmt.Fprintf(d, "V%s", number(bottom-s.Value/max(most, 1e-12)*(bottom-top)))
	}
	fmt.Fprintf(d, `V%sZ"><title>%s</title></path>`+"\n", number(bottom), html.EscapeString(l.Name+": at most "+l.Write(most)))
	d.text(d.x.to+6, top+10, 11, "start", l.Write(most))
	d.WriteString("</g>\n")
}

// event draws a mark at a time.
func (d *curves) event(e Event, y float64) {
	class := "happened" + view.When(e.Bad, " bad")
	mark := fmt.Sprintf(`<path class="%s" d="M%s %sv14"><title>%s</title></path>`, class, number(d.at(e.At)), number(y-7), html.EscapeString(view.Duration(e.At)+": "+e.Text))
	if e.Link != "" {
		mark = fmt.Sprintf(`<a href="%s" aria-label="%s">%s</a>`, html.EscapeString(e.Link), html.EscapeString(e.Text+" after "+view.Duration(e.At)), mark)
	}
	d.WriteString(mark + "\n")
}
