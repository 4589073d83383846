package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
)

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
	span
	bottom float64
}

// Intervals draws estimates below each other, with a line at zero. It returns "" without
// a finite value. About is the title of the axis, such as "difference in percentage
// points".
func Intervals(rows []Estimate, about string) template.HTML {
	return drawIntervals(rows, about, func(d *intervals) { d.include(0) }, func(d *intervals) {
		fmt.Fprintf(d, `<path class="line ink" d="M%s %sV%s"/>`+"\n", number(d.x(0)), number(d.bottom), number(intervalTop))
	})
}

// Dots draws scores at a competition below each other, with the medal lines that are not
// far from them.
func Dots(c People, rows []Estimate) template.HTML {
	reach := func(d *intervals) {
		size := d.hi - d.lo
		if size == 0 && !math.IsNaN(c.Gold-c.Median) {
			size = math.Abs(c.Gold - c.Median)
		}
		near := span{d.lo - size, d.hi + size}
		for _, l := range c.levels() {
			if l.value >= near.lo && l.value <= near.hi {
				d.include(l.value)
			}
		}
	}
	return drawIntervals(rows, "score ("+c.direction()+")", reach, func(d *intervals) {
		for _, l := range c.levels() {
			if l.value >= d.lo && l.value <= d.hi {
				fmt.Fprintf(d, `<path class="line %s" stroke-width="2" d="M%s %sV%s"/>`+"\n", l.class, number(d.x(l.value)), number(d.bottom), number(intervalTop))
			}
		}
	})
}

// drawIntervals draws estimates over lines. Reach widens the span.
func drawIntervals(rows []Estimate, about string, reach, lines func(*intervals)) template.HTML {
	d := &intervals{span: emptySpan(), bottom: intervalTop + intervalRow*float64(len(rows))}
	for _, r := range rows {
		d.include(r.Value)
		d.include(r.Points...)
		if r.Known {
			d.include(r.Lower, r.Upper)
		}
	}
	if !d.some() {
		return ""
	}
	reach(d)
	d.pad(0.05)
	d.open("img", intervalWidth, d.bottom+intervalBottom, "plot intervals", about)
	for _, v := range roundTicks(d.lo, d.hi) {
		fmt.Fprintf(d, `<path class="line grid" d="M%s %sV%s"/>`, number(d.x(v)), number(d.bottom), number(intervalTop))
		d.text(d.x(v), d.bottom+16, 11, "middle", Score(v))
	}
	lines(d)
	d.text((intervalLeft+intervalWidth-intervalRight)/2, d.bottom+36, 12, "middle", about)
	for i, r := range rows {
		d.row(r, intervalTop+intervalRow*(float64(i)+0.5))
	}
	return d.close()
}

func (d *intervals) x(v float64) float64 {
	return intervalLeft + (v-d.lo)/(d.hi-d.lo)*(intervalWidth-intervalLeft-intervalRight)
}

func (d *intervals) row(r Estimate, y float64) {
	d.text(intervalLeft-10, y+4, 12, "end", clip(r.Name, 26))
	d.text(intervalWidth-intervalRight+10, y+4, 11, "start", r.Note)
	if len(finite([]float64{r.Value})) == 0 {
		return
	}
	for _, v := range finite(r.Points) {
		fmt.Fprintf(d, `<circle class="area c%d faint" cx="%s" cy="%s" r="3"/>`, r.Color%Palette, number(d.x(v)), number(y))
	}
	fmt.Fprintf(d, `<g><title>%s: %s</title>`, html.EscapeString(r.Name), Score(r.Value))
	if r.Known && len(finite([]float64{r.Lower, r.Upper})) == 2 {
		fmt.Fprintf(d, `<path class="line l%d" stroke-width="2" d="M%s %sH%sM%s %sv8M%s %sv8"/>`,
			r.Color%Palette, number(d.x(r.Lower)), number(y), number(d.x(r.Upper)), number(d.x(r.Lower)), number(y-4), number(d.x(r.Upper)), number(y-4))
	}
	fmt.Fprintf(d, `<circle class="area c%d" cx="%s" cy="%s" r="4.5"/></g>`+"\n", r.Color%Palette, number(d.x(r.Value)), number(y))
}
