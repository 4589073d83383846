package page

import (
	"fmt"
	"html"
	"html/template"
)

// Estimate is a value with its interval, a row of a plot of intervals. Without
// Known there is no interval, only the value.
type Estimate struct {
	Name                string
	Value, Lower, Upper float64
	Known               bool
	// Note is written at the right, such as "0.012".
	Note string
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
}

// Intervals draws estimates below each other, with a line at zero. It returns "" without
// a finite value. About is the title of the axis, such as "difference in percentage
// points".
func Intervals(rows []Estimate, about string) template.HTML {
	d := &intervals{span: nowhere()}
	for _, r := range rows {
		d.include(r.Value)
		if r.Known {
			d.include(r.Lower, r.Upper)
		}
	}
	if !d.some() {
		return ""
	}
	d.include(0)
	d.pad(0.05)
	height := intervalTop + intervalRow*float64(len(rows)) + intervalBottom
	d.open(intervalWidth, height, "plot intervals", about)
	bottom := height - intervalBottom
	for _, v := range roundTicks(d.lo, d.hi) {
		fmt.Fprintf(d, `<path class="line grid" d="M%s %sV%s"/>`, number(d.x(v)), number(bottom), number(intervalTop))
		d.text(d.x(v), bottom+16, 11, "middle", Score(v))
	}
	fmt.Fprintf(d, `<path class="line ink" d="M%s %sV%s"/>`+"\n", number(d.x(0)), number(bottom), number(intervalTop))
	d.text((intervalLeft+intervalWidth-intervalRight)/2, bottom+36, 12, "middle", about)
	for i, r := range rows {
		d.row(r, intervalTop+intervalRow*(float64(i)+0.5))
	}
	d.WriteString("</svg>")
	return template.HTML(d.String())
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
	fmt.Fprintf(d, `<g><title>%s: %s</title>`, html.EscapeString(r.Name), Score(r.Value))
	if r.Known && len(finite([]float64{r.Lower, r.Upper})) == 2 {
		fmt.Fprintf(d, `<path class="line l0" stroke-width="2" d="M%s %sH%sM%s %sv8M%s %sv8"/>`,
			number(d.x(r.Lower)), number(y), number(d.x(r.Upper)), number(d.x(r.Lower)), number(y-4), number(d.x(r.Upper)), number(y-4))
	}
	fmt.Fprintf(d, `<circle class="area c0" cx="%s" cy="%s" r="4.5"/></g>`+"\n", number(d.x(r.Value)), number(y))
}
