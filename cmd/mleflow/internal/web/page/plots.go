package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// Palette is the number of colours for agents and kinds in the style sheet:
// classes c0 to c7 for areas, l0 to l7 for lines.
const Palette = 8

// drawing is an SVG that is being written.
type drawing struct{ strings.Builder }

// open begins a drawing, with a text for those who cannot see it. Its role is "img", or
// "group" for one with links.
func (d *drawing) open(role string, w, h float64, class, label string) {
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" class="%s" role="%s" aria-label="%s" viewBox="0 0 %s %s">`+"\n",
		class, role, html.EscapeString(label), number(w), number(h))
}

// close ends the drawing.
func (d *drawing) close() template.HTML {
	d.WriteString("</svg>")
	return template.HTML(d.String())
}

// text writes words beside, or with anchor middle around, a place.
func (d *drawing) text(x, y, size float64, anchor, text string) {
	fmt.Fprintf(d, `<text class="ink" x="%s" y="%s" font-size="%s" text-anchor="%s">%s</text>`+"\n",
		number(x), number(y), number(size), anchor, html.EscapeString(text))
}

// number writes a coordinate with at most two decimals.
func number(v float64) string {
	s := strings.TrimRight(fmt.Sprintf("%.2f", v), "0")
	s = strings.TrimSuffix(s, ".")
	if s == "-0" {
		return "0"
	}
	return s
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

// path draws a path, in which each %s is a coordinate.
func (d *drawing) path(attributes, path string, at ...float64) {
	places := lists.Of(at, func(v float64) any { return number(v) })
	fmt.Fprintf(d, `<path `+attributes+` d="`+path+`"/>`+"\n", places...)
}

// across draws a horizontal axis at a height, with ticks and what they say.
func (d *drawing) across(x *scale, y float64, ticks []float64, write func(float64) string) {
	path, at := "M%s %sH%s", []float64{x.from, y, x.to}
	for _, v := range ticks {
		path, at = path+"M%s %sv5", append(at, x.at(v), y)
	}
	d.path(`class="line ink"`, path, at...)
	for _, v := range ticks {
		d.text(x.at(v), y+18, 11, "middle", write(v))
	}
}

// up draws the lines of a vertical axis, with what they say.
func (d *drawing) up(y *scale, left, right float64) {
	for _, v := range roundTicks(y.lo, y.hi) {
		d.path(`class="line grid"`, "M%s %sH%s", left, y.at(v), right)
		d.text(left-8, y.at(v)+4, 11, "end", Score(v))
	}
}

// medals draws the medal lines of a competition over a horizontal axis.
func (d *drawing) medals(of People, x *scale, bottom, top float64) {
	for _, l := range of.levels() {
		if x.has(l.value) {
			d.path(`class="line `+l.class+`" stroke-width="2"`, "M%s %sV%s", x.at(l.value), bottom, top)
		}
	}
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// finite returns the values that are numbers.
func finite(values []float64) []float64 { return lists.Where(values, isFinite) }

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
		ticks = append(ticks, i*step+0) // no -0
	}
	return ticks
}

// span is a range of values that grows.
type span struct{ lo, hi float64 }

// include widens the span to the values that are numbers.
func (s *span) include(values ...float64) {
	for _, v := range finite(values) {
		s.lo, s.hi = min(s.lo, v), max(s.hi, v)
	}
}

// reach widens the span to the values that are no farther from it.
func (s *span) reach(far float64, values ...float64) {
	near := span{s.lo - far, s.hi + far}
	s.include(lists.Where(values, near.has)...)
}

// has reports whether a value is in the span.
func (s *span) has(v float64) bool { return v >= s.lo && v <= s.hi }

// scale is a span of values that is drawn between two places.
type scale struct {
	span
	from, to float64
}

func newScale(from, to float64) scale { return scale{span{math.Inf(1), math.Inf(-1)}, from, to} }

// at is the place of a value.
func (s *scale) at(v float64) float64 { return s.from + (v-s.lo)/(s.hi-s.lo)*(s.to-s.from) }

// some reports whether anything was included.
func (s *span) some() bool { return s.lo <= s.hi }

// pad widens the span by a share of itself; a point becomes wide enough to be
// drawn.
func (s *span) pad(share float64) {
	if s.hi == s.lo {
		half := max(0.5, math.Abs(s.hi)/100)
		s.lo, s.hi = s.lo-half, s.hi+half
	}
	margin := (s.hi - s.lo) * share
	s.lo, s.hi = s.lo-margin, s.hi+margin
}

// Estimate is a value with its interval, a row of a plot of intervals. Without
// Known there is no interval, only the value.
type Estimate struct {
	Name                string
	Value, Lower, Upper float64
	Known               bool
	// Note is written at the right, such as "0.012".
	Note string
	// Points are the single values behind it; Color is an index of the palette.
	Points []float64
	Color  int
}

const (
	intervalWidth, intervalRow  = 760.0, 24.0
	intervalLeft, intervalRight = 210.0, 120.0
	intervalTop, intervalBottom = 8.0, 42.0
)

// intervals is a plot of intervals that is being drawn.
type intervals struct {
	drawing
	x      scale
	bottom float64
}

// Intervals draws estimates below each other, with a line at zero. It returns "" without
// a finite value. About is the title of the axis, such as "difference in percentage
// points".
func Intervals(rows []Estimate, about string) template.HTML {
	return drawIntervals(rows, about, func(d *intervals) { d.x.include(0) }, func(d *intervals) {
		d.path(`class="line ink"`, "M%s %sV%s", d.x.at(0), d.bottom, intervalTop)
	})
}

// Dots draws scores at a competition below each other, with the medal lines that are not
// far from them.
func Dots(c People, rows []Estimate) template.HTML {
	reach := func(d *intervals) {
		size := d.x.hi - d.x.lo
		if size == 0 && !math.IsNaN(c.Gold-c.Median) {
			size = math.Abs(c.Gold - c.Median)
		}
		d.x.reach(size, c.thresholds()...)
	}
	return drawIntervals(rows, "score ("+c.direction()+")", reach, func(d *intervals) { d.medals(c, &d.x, d.bottom, intervalTop) })
}

// drawIntervals draws estimates over lines. Reach widens the span.
func drawIntervals(rows []Estimate, about string, reach, lines func(*intervals)) template.HTML {
	d := &intervals{x: newScale(intervalLeft, intervalWidth-intervalRight), bottom: intervalTop + intervalRow*float64(len(rows))}
	for _, r := range rows {
		d.x.include(r.Value)
		d.x.include(r.Points...)
		if r.Known {
			d.x.include(r.Lower, r.Upper)
		}
	}
	if !d.x.some() {
		return ""
	}
	reach(d)
	d.x.pad(0.05)
	d.open("img", intervalWidth, d.bottom+intervalBottom, "plot intervals", about)
	for _, v := range roundTicks(d.x.lo, d.x.hi) {
		d.path(`class="line grid"`, "M%s %sV%s", d.x.at(v), d.bottom, intervalTop)
		d.text(d.x.at(v), d.bottom+16, 11, "middle", Score(v))
	}
	lines(d)
	d.text((d.x.from+d.x.to)/2, d.bottom+36, 12, "middle", about)
	for i, r := range rows {
		d.row(r, intervalTop+intervalRow*(float64(i)+0.5))
	}
	return d.close()
}

func (d *intervals) row(r Estimate, y float64) {
	d.text(intervalLeft-10, y+4, 12, "end", clip(r.Name, 26))
	d.text(intervalWidth-intervalRight+10, y+4, 11, "start", r.Note)
	if !isFinite(r.Value) {
		return
	}
	for _, v := range finite(r.Points) {
		fmt.Fprintf(d, `<circle class="area c%d faint" cx="%s" cy="%s" r="3"/>`, r.Color%Palette, number(d.x.at(v)), number(y))
	}
	fmt.Fprintf(d, `<g><title>%s: %s</title>`, html.EscapeString(r.Name), Score(r.Value))
	if lower, upper := d.x.at(r.Lower), d.x.at(r.Upper); r.Known && isFinite(lower) && isFinite(upper) {
		d.path(fmt.Sprintf(`class="line l%d" stroke-width="2"`, r.Color%Palette), "M%s %sH%sM%s %sv8M%s %sv8", lower, y, upper, lower, y-4, upper, y-4)
	}
	fmt.Fprintf(d, `<circle class="area c%d" cx="%s" cy="%s" r="4.5"/></g>`+"\n", r.Color%Palette, number(d.x.at(r.Value)), number(y))
}

// Dot is a point of a scatter plot.
type Dot struct {
	Name  string
	X, Y  float64
	Color int
}

// Scatter draws named points, such as the costs of agents against their results. Across
// and Up are the titles of the axes. It returns "" without a finite point.
func Scatter(dots []Dot, across, up string) template.HTML {
	const left, top, bottom = 70.0, 14.0, 256.0
	x, y := newScale(left, curveWidth-20), newScale(bottom, top)
	shown := lists.Where(dots, func(d Dot) bool { return isFinite(d.X) && isFinite(d.Y) })
	if len(shown) == 0 {
		return ""
	}
	for _, d := range shown {
		x.include(d.X)
		y.include(d.Y)
	}
	x.include(0)
	x.pad(0.05)
	y.pad(0.08)
	var d drawing
	d.open("img", curveWidth, curveHeight, "plot scatter", up+" against "+across)
	d.up(&y, x.from, x.to)
	d.across(&x, bottom, roundTicks(x.lo, x.hi), Score)
	d.text((x.from+x.to)/2, bottom+38, 12, "middle", across+" · "+up)
	for _, p := range shown {
		fmt.Fprintf(&d, `<g><title>%s</title><circle class="area c%d" cx="%s" cy="%s" r="5"/></g>`+"\n",
			html.EscapeString(p.Name), p.Color%Palette, number(x.at(p.X)), number(y.at(p.Y)))
		anchor, at := "start", x.at(p.X)+9
		if at > curveWidth*0.75 {
			anchor, at = "end", x.at(p.X)-9
		}
		d.text(at, y.at(p.Y)+4, 11, anchor, clip(p.Name, 28))
	}
	return d.close()
}
