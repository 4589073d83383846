package page

import (
	"fmt"
	"html"
	"html/template"
)

// Dot is a point of a scatter plot.
type Dot struct {
	Name  string
	X, Y  float64
	Color int
}

// Scatter draws named points, such as the costs of agents against their results. Across
// and Up are the titles of the axes. It returns "" without a finite point.
func Scatter(dots []Dot, across, up string) template.HTML {
	x, y := emptySpan(), emptySpan()
	var shown []Dot
	for _, d := range dots {
		if len(finite([]float64{d.X, d.Y})) == 2 {
			x.include(d.X)
			y.include(d.Y)
			shown = append(shown, d)
		}
	}
	if len(shown) == 0 {
		return ""
	}
	x.include(0)
	x.pad(0.05)
	y.pad(0.08)
	const left, right, top, bottom = 70.0, 20.0, 14.0, 256.0
	xAt := func(v float64) float64 { return left + (v-x.lo)/(x.hi-x.lo)*(curveWidth-left-right) }
	yAt := func(v float64) float64 { return bottom - (v-y.lo)/(y.hi-y.lo)*(bottom-top) }
	var d drawing
	d.open("img", curveWidth, curveHeight, "plot scatter", up+" against "+across)
	for _, v := range roundTicks(y.lo, y.hi) {
		fmt.Fprintf(&d, `<path class="line grid" d="M%s %sH%s"/>`+"\n", number(left), number(yAt(v)), number(curveWidth-right))
		d.text(left-8, yAt(v)+4, 11, "end", Score(v))
	}
	fmt.Fprintf(&d, `<path class="line ink" d="M%s %sH%s"/>`+"\n", number(left), number(bottom), number(curveWidth-right))
	for _, v := range roundTicks(x.lo, x.hi) {
		fmt.Fprintf(&d, `<path class="line ink" d="M%s %sv5"/>`, number(xAt(v)), number(bottom))
		d.text(xAt(v), bottom+18, 11, "middle", Score(v))
	}
	d.text((left+curveWidth-right)/2, bottom+38, 12, "middle", across+" · "+up)
	for _, p := range shown {
		fmt.Fprintf(&d, `<g><title>%s</title><circle class="area c%d" cx="%s" cy="%s" r="5"/></g>`+"\n",
			html.EscapeString(p.Name), p.Color%Palette, number(xAt(p.X)), number(yAt(p.Y)))
		anchor, at := "start", xAt(p.X)+9
		if at > curveWidth*0.75 {
			anchor, at = "end", xAt(p.X)-9
		}
		d.text(at, yAt(p.Y)+4, 11, anchor, clip(p.Name, 28))
	}
	return d.close()
}
