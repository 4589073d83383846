package report

import (
	"fmt"
	"html"
	"image"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// role is a colour that the style sheet decides: it becomes the class of what
// is drawn with it, so that one drawing serves light, dark and print.
type role string

// RGBA implements color.Color; plots never look at the value.
func (role) RGBA() (r, g, b, a uint32) { return color.Black.RGBA() }

// svgCanvas is a vg.Canvas that writes SVG coloured by roles. It draws what
// plots need; images are left out.
type svgCanvas struct {
	w, h  vg.Length
	b     strings.Builder
	state canvasState
	stack []canvasState
}

// canvasState is what Push saves: pen and transformation.
type canvasState struct {
	class  string
	width  vg.Length
	dashes string
	m      matrix
}

// matrix maps (x, y) to (a·x + c·y + e, b·x + d·y + f).
type matrix struct{ a, b, c, d, e, f float64 }

func (m matrix) apply(p vg.Point) (x, y float64) {
	px, py := float64(p.X), float64(p.Y)
	return m.a*px + m.c*py + m.e, m.b*px + m.d*py + m.f
}

// times returns the map that applies n first, then m.
func (m matrix) times(n matrix) matrix {
	return matrix{
		a: m.a*n.a + m.c*n.b, b: m.b*n.a + m.d*n.b,
		c: m.a*n.c + m.c*n.d, d: m.b*n.c + m.d*n.d,
		e: m.a*n.e + m.c*n.f + m.e, f: m.b*n.e + m.d*n.f + m.f,
	}
}

func newCanvas(w, h vg.Length) *svgCanvas {
	flip := matrix{a: 1, d: -1, f: float64(h)}
	return &svgCanvas{w: w, h: h, state: canvasState{class: "ink", width: 1, m: flip}}
}

// Size implements vg.CanvasSizer.
func (c *svgCanvas) Size() (x, y vg.Length) { return c.w, c.h }

// SetLineWidth implements vg.Canvas.
func (c *svgCanvas) SetLineWidth(w vg.Length) { c.state.width = w }

// SetLineDash implements vg.Canvas.
func (c *svgCanvas) SetLineDash(pattern []vg.Length, _ vg.Length) {
	parts := make([]string, len(pattern))
	for i, p := range pattern {
		parts[i] = number(float64(p))
	}
	c.state.dashes = strings.Join(parts, " ")
}

// SetColor implements vg.Canvas.
func (c *svgCanvas) SetColor(col color.Color) {
	c.state.class = "ink"
	if r, ok := col.(role); ok {
		c.state.class = string(r)
	}
}

// Rotate implements vg.Canvas.
func (c *svgCanvas) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	c.state.m = c.state.m.times(matrix{a: cos, b: sin, c: -sin, d: cos})
}

// Translate implements vg.Canvas.
func (c *svgCanvas) Translate(p vg.Point) {
	c.state.m = c.state.m.times(matrix{a: 1, d: 1, e: float64(p.X), f: float64(p.Y)})
}

// Scale implements vg.Canvas.
func (c *svgCanvas) Scale(x, y float64) { c.state.m = c.state.m.times(matrix{a: x, d: y}) }

// Push implements vg.Canvas.
func (c *svgCanvas) Push() { c.stack = append(c.stack, c.state) }

// Pop implements vg.Canvas.
func (c *svgCanvas) Pop() {
	last := len(c.stack) - 1
	c.state, c.stack = c.stack[last], c.stack[:last]
}

// Stroke implements vg.Canvas.
func (c *svgCanvas) Stroke(p vg.Path) {
	if c.state.width <= 0 {
		return
	}
	dashes := ""
	if c.state.dashes != "" {
		dashes = fmt.Sprintf(` stroke-dasharray="%s"`, c.state.dashes)
	}
	fmt.Fprintf(&c.b, `<path class="line %s" stroke-width="%s"%s d="%s"/>`+"\n", c.state.class, number(float64(c.state.width)), dashes, c.path(p))
}

// Fill implements vg.Canvas.
func (c *svgCanvas) Fill(p vg.Path) {
	fmt.Fprintf(&c.b, `<path class="area %s" d="%s"/>`+"\n", c.state.class, c.path(p))
}

// FillString implements vg.Canvas.
func (c *svgCanvas) FillString(f font.Face, at vg.Point, text string) {
	if f.Font.Size == 0 || text == "" {
		return
	}
	x, y := c.state.m.apply(at)
	turn := ""
	if degrees := math.Atan2(c.state.m.b, c.state.m.a) * 180 / math.Pi; math.Abs(degrees) > 0.01 {
		turn = fmt.Sprintf(` transform="rotate(%s %s %s)"`, number(degrees), number(x), number(y))
	}
	fmt.Fprintf(&c.b, `<text class="%s" x="%s" y="%s" font-size="%s"%s>%s</text>`+"\n",
		c.state.class, number(x), number(y), number(float64(f.Font.Size)), turn, html.EscapeString(text))
}

// DrawImage implements vg.Canvas; no plot here has images.
func (c *svgCanvas) DrawImage(vg.Rectangle, image.Image) {}

// svg returns the drawing with a text for those who cannot see it.
func (c *svgCanvas) svg(label string) string {
	return svgOpen(float64(c.w), float64(c.h), "plot", label) + c.b.String() + "</svg>"
}

func svgOpen(w, h float64, class, label string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="%s" role="img" aria-label="%s" viewBox="0 0 %s %s">`+"\n",
		class, html.EscapeString(label), number(w), number(h))
}

// path writes a path in SVG's terms.
func (c *svgCanvas) path(p vg.Path) string {
	var b strings.Builder
	for _, part := range p {
		switch part.Type {
		case vg.MoveComp:
			b.WriteString("M" + c.at(part.Pos))
		case vg.LineComp:
			b.WriteString("L" + c.at(part.Pos))
		case vg.ArcComp:
			b.WriteString(c.arc(part))
		case vg.CurveComp:
			b.WriteString(c.curve(part))
		case vg.CloseComp:
			b.WriteString("Z")
		}
	}
	return b.String()
}

func (c *svgCanvas) at(p vg.Point) string {
	x, y := c.state.m.apply(p)
	return number(x) + " " + number(y)
}

// arc is drawn as two halves, since SVG cannot draw a whole circle at once.
func (c *svgCanvas) arc(p vg.PathComp) string {
	on := func(angle float64) string {
		sin, cos := math.Sincos(angle)
		return c.at(vg.Point{X: p.Pos.X + p.Radius*vg.Length(cos), Y: p.Pos.Y + p.Radius*vg.Length(sin)})
	}
	sweep := 0
	if p.Angle < 0 {
		sweep = 1
	}
	r := number(float64(p.Radius))
	half := func(to string) string { return fmt.Sprintf("A%s %s 0 0 %d %s", r, r, sweep, to) }
	return "L" + on(p.Start) + half(on(p.Start+p.Angle/2)) + half(on(p.Start+p.Angle))
}

func (c *svgCanvas) curve(p vg.PathComp) string {
	command := "C"
	if len(p.Control) == 1 {
		command = "Q"
	}
	var points []string
	for _, control := range p.Control {
		points = append(points, c.at(control))
	}
	return command + strings.Join(append(points, c.at(p.Pos)), " ")
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
