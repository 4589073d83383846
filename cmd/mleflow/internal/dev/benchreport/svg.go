package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
)

// The measures of the picture, in pixels. The scale goes from a hundredth to a
// thousand times, with once at axis.
const (
	lineHeight = 20
	topHeight  = 76
	axis       = 570
	decade     = 90
	pictureEnd = axis + 3*decade + 60
)

// The colours of bars, readable on white and on black.
const ahead, behind = "#2f81f7", "#d4762c"

// draw draws the chart's metric of all tables as bars from the line of once: to the
// right where mleflow is ahead, to the left where the other is. The grey of the text is
// readable on white and on black.
func draw(tables []table, all map[string]results) []byte {
	var s bytes.Buffer
	y := topHeight
	for _, t := range tables {
		r := all[t.name]
		if t.chart.unit == "" || r.empty() {
			continue
		}
		title := t.chart.title
		if !t.isFull(r) {
			title += smallSize
		}
		fmt.Fprintf(&s, `<text x="8" y="%d" font-weight="bold">%s</text>`+"\n", y+22, html.EscapeString(title))
		y += 30
		for _, row := range t.rows {
			if v, ok := r.now.figures[row.benchmark][t.chart.unit]; ok && v > 0 {
				bar(&s, y, row.text, v)
				y += lineHeight
			}
		}
	}
	var frame bytes.Buffer
	fmt.Fprintf(&frame, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12" fill="#768390">`+"\n",
		pictureEnd, y+12, pictureEnd, y+12)
	frame.WriteString(`<text x="8" y="20" font-weight="bold" font-size="14">How many times less mleflow takes than others, on a logarithmic scale</text>` + "\n")
	fmt.Fprintf(&frame, `<rect x="8" y="31" width="10" height="10" fill="%s"/><text x="24" y="41">mleflow takes less</text><rect x="160" y="31" width="10" height="10" fill="%s"/><text x="176" y="41">the other takes less</text>`+"\n", ahead, behind)
	for power := -2; power <= 3; power++ {
		x := axis + power*decade
		fmt.Fprintf(&frame, `<text x="%d" y="64" text-anchor="middle">%s ×</text><line x1="%d" y1="70" x2="%d" y2="%d" stroke="#768390" stroke-opacity="%s"/>`+"\n",
			x, strconv.FormatFloat(math.Pow10(power), 'g', -1, 64), x, x, y, map[bool]string{true: "1", false: ".3"}[power == 0])
	}
	s.WriteString("</svg>\n")
	return append(frame.Bytes(), s.Bytes()...)
}

// bar draws one ratio.
func bar(s *bytes.Buffer, y int, text string, v float64) {
	end := axis + decade*min(max(math.Log10(v), -2), 3)
	colour, from, label := ahead, float64(axis), end+5
	if v < 1 {
		colour, from, label = behind, end, axis+5
	}
	fmt.Fprintf(s, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%s</text>`+"\n",
		axis-2*decade-8, y+13, html.EscapeString(text), from, y+3, math.Abs(end-axis), lineHeight-7, colour, label, y+13, figure(v, ""))
}
