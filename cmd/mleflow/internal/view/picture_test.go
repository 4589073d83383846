package view

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPicture keeps the README's picture of the live view, docs/live.svg, the
// same as the frame of 100 columns in testdata/live.txt.
func TestPicture(t *testing.T) {
	frames, err := os.ReadFile(filepath.Join("testdata", "live.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, frame, found := strings.Cut(string(frames), "-- 100 columns, 24 lines --\n")
	frame, _, more := strings.Cut(frame, "\n--")
	if !found || !more {
		t.Fatal("no such frame")
	}
	golden(t, filepath.Join("..", "..", "..", "..", "..", "docs", "live.svg"), picture(strings.Split(frame, "\n")))
}

// picture draws lines as a terminal shows them, 100 columns wide.
func picture(lines []string) string {
	const column, line, margin = 8.4, 20, 16
	width, height := 100*column+2*margin, len(lines)*line+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %d\" role=\"img\" aria-label=\"The live view of a run\">\n", width, height)
	fmt.Fprintf(&b, "<rect width=\"%.0f\" height=\"%d\" rx=\"8\" fill=\"#0d1117\"/>\n", width, height)
	b.WriteString("<g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"14\" fill=\"#e6edf3\">\n")
	for i, text := range lines {
		// Each word has its place: browsers collapse spaces, and fonts differ in width.
		at := 0
		for word := range strings.SplitSeq(text, " ") {
			if word != "" {
				fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", margin+float64(at)*column, margin+i*line+15, html.EscapeString(word))
			}
			at += len([]rune(word)) + 1
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}
