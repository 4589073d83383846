package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// The measures of a picture, in pixels.
const (
	labelWidth = 300
	barWidth   = 380
	lineHeight = 22
	topHeight  = 34
)

// svg draws the chart's metric as bars, on a logarithmic scale where the largest
// is more than twenty times the smallest.
func (t table) svg(r results) []byte {
	var rows []row
	low, high := math.Inf(1), 0.0
	for _, row := range t.rows {
		if v, ok := r.now[row.benchmark][t.chart.unit]; ok && v > 0 {
			rows, low, high = append(rows, row), min(low, v), max(high, v)
		}
	}
	length := func(v float64) float64 { return barWidth * v / high }
	title := t.chart.title
	if high > 20*low {
		from := math.Log(min(low, 1) / 1.5)
		length = func(v float64) float64 { return barWidth * (math.Log(v) - from) / (math.Log(high) - from) }
		title += " (logarithmic)"
	}
	var s bytes.Buffer
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13" fill="#6e7781">`+"\n",
		labelWidth+barWidth+100, topHeight+len(rows)*lineHeight+8)
	fmt.Fprintf(&s, `<text x="8" y="20" font-weight="bold">%s</text>`+"\n", html.EscapeString(title))
	for i, row := range rows {
		v, y := r.now[row.benchmark][t.chart.unit], topHeight+i*lineHeight
		fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%.1f" height="%d" fill="#4c78a8"/><text x="%.1f" y="%d">%s</text>`+"\n",
			labelWidth-8, y+14, html.EscapeString(row.text), labelWidth, y+2, length(v), lineHeight-6, labelWidth+length(v)+6, y+14, figure(v, ""))
	}
	s.WriteString("</svg>\n")
	return s.Bytes()
}
