package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPicture keeps the picture of docs/ui.md, docs/curve.svg, what pages draw:
// the score of an attempt over time. UPDATE_GOLDEN=1 draws it again.
func TestPicture(t *testing.T) {
	people := People{ID: "demo-digits", Gold: 0.99167, Silver: 0.98611, Bronze: 0.97222, Median: 0.96667}
	snapshots, best := Line{Name: "snapshots"}, Line{Name: "best so far", Steps: true, Color: 3}
	top := 0.0
	for i, score := range []float64{0.931, 0.947, 0.944, 0.9635, 0.962, 0.9712, 0.969, 0.9745, 0.9741, 0.981, 0.979, 0.9868, 0.9853} {
		at := time.Duration(50+110*i) * time.Minute
		top = max(top, score)
		snapshots.Moments, best.Moments = append(snapshots.Moments, Moment{at, score}), append(best.Moments, Moment{at, top})
	}
	drawn := string(Curves{People: people, Until: 24 * time.Hour, Lines: []Line{best, snapshots},
		Marks: []time.Duration{time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour}}.Draw())
	head, rest, _ := strings.Cut(drawn, ">\n")
	colors, _, _ := strings.Cut(style, "* {")
	var rules strings.Builder // those that apply to the picture
	for line := range strings.Lines(style) {
		if strings.HasPrefix(line, ".line") || strings.HasPrefix(line, ".c0") || strings.HasPrefix(line, ".l0") {
			rules.WriteString(line)
		}
	}
	got := head + ">\n<style>\n" + colors + rules.String() + "svg { background: var(--card); }\nsvg text { font-family: system-ui, sans-serif; fill: var(--soft); }\n</style>\n" + rest + "\n"
	path := filepath.Join("..", "..", "..", "..", "..", "docs", "curve.svg")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("docs/curve.svg is not what pages draw: make golden (%v)", err)
	}
}
