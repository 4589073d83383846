package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
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

// finite returns the values that are numbers.
func finite(values []float64) []float64 {
	var out []float64
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, v)
		}
	}
	return out
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

// emptySpan is the span of no values.
func emptySpan() span { return span{math.Inf(1), math.Inf(-1)} }

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
