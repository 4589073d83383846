package page

import (
	"math"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/event"
)

// TestDots draws means, intervals, single scores and the medal lines that are near.
func TestDots(t *testing.T) {
	people := People{ID: "c", Gold: 0.9, Silver: 0.8, Bronze: 0.7, Median: -40}
	rows := []Estimate{
		{Name: "a<b>", Value: 0.6, Lower: 0.5, Upper: 0.7, Known: true, Points: []float64{0.5, 0.7, math.NaN()}, Color: 1},
		{Name: "none", Value: math.NaN(), Color: 2},
	}
	got := string(Dots(people, rows))
	for want, n := range map[string]int{`class="area c1 faint"`: 2, `class="area c1"`: 1, `class="area c2"`: 0, `class="line l1"`: 1, `class="line bronze"`: 1, `class="line median"`: 0, "a&lt;b&gt;": 2, "NaN": 0, "higher is better": 2} {
		if strings.Count(got, want) != n {
			t.Errorf("%q is there %d times, want %d", want, strings.Count(got, want), n)
		}
	}
	if got := string(Dots(People{Gold: 0.99, Silver: 0.98, Bronze: 0.97, Median: 0.96}, []Estimate{{Name: "a", Value: 0.975}, {Name: "b", Value: 0.975}})); !strings.Contains(got, `class="line median"`) || strings.Contains(got, ">1.2<") {
		t.Errorf("equal scores are drawn without the medals beside them: %s", got)
	}
	if Dots(people, rows[1:]) != "" {
		t.Error("a plot of nothing is drawn")
	}
}

// TestTally describes blocks by what went wrong before what went well.
func TestTally(t *testing.T) {
	for name, tt := range map[string]struct {
		tally       Tally
		statuses    []string
		live        bool
		text, state string
	}{
		"nothing yet":    {Tally{Total: 3}, nil, true, "0/3", "waiting"},
		"under way":      {Tally{Total: 3, Running: 1}, []string{"ran"}, true, "1/3 · 1 running", "running"},
		"bad attempts":   {Tally{Total: 2, Problems: 1}, []string{"ran", "ran"}, false, "2/2 · 1 bad", "failed"},
		"failed steps":   {Tally{Total: 2}, []string{"failed", "skipped"}, false, "1/2 · 1 failed · 1 skipped", "failed"},
		"from the cache": {Tally{Total: 2}, []string{"cached", "cached"}, false, "2/2 · 2 cached", ""},
	} {
		for _, s := range tt.statuses {
			tt.tally.Add(event.Status(s))
		}
		if text, state := tt.tally.text(), tt.tally.state(tt.live); text != tt.text || state != tt.state {
			t.Errorf("%s: %q, %q", name, text, state)
		}
	}
}
