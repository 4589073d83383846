package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// functions are the functions available to every template of a page.
var functions = map[string]any{
	"add":         func(a, b int) int { return a + b },
	"bytes":       view.Bytes,
	"color":       func(i int) int { return i % Palette },
	"count":       func(n int) string { return view.Count(int64(n)) },
	"date":        Date,
	"duration":    view.Duration,
	"isZero":      time.Time.IsZero,
	"join":        strings.Join,
	"isolated":    func(text string) bool { return !strings.Contains(text, conditions.NotIsolated) },
	"key":         addr.KeyOf,
	"known":       func(v float64) bool { return !math.IsNaN(v) },
	"place":       results.Place,
	"plural":      view.Plural,
	"published":   competitions.Published,
	"rate":        Rate,
	"score":       Score,
	"seconds":     func(s float64) string { return view.Duration(time.Duration(s * float64(time.Second))) },
	"trim":        strings.TrimSpace,
	"statusClass": func(s event.Status) string { return string(s) },
}

// Fact is a name and a value.
type Fact struct {
	Name, Value string
	// Class colours the value, such as "bad".
	Class string
}

// Rate writes a percentage of a group: mean and standard error over seeds, "66.7 ± 16.7". The
// standard error of one seed is not known; without a mean it is "–".
func Rate(figures board.Split, name string, seeds int) string {
	e, ok := figures[name]
	switch mean := strconv.FormatFloat(float64(e.Mean), 'f', 1, 64); {
	case !ok || math.IsNaN(float64(e.Mean)):
		return "–"
	case seeds <= 1:
		return mean
	default:
		return mean + " ± " + strconv.FormatFloat(float64(e.SEM), 'f', 1, 64)
	}
}

// Date writes a time as "2 January 2006, 15:04:05 UTC".
func Date(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") }

// Verdict is the state of a run and its class. One whose steps all ended well is no success
// if its attempts have no score.
func Verdict(state history.State, bad, all int) (text, class string) {
	switch {
	case state != history.Finished || bad == 0:
		return string(state), string(state)
	case bad == all:
		return "finished, no attempt has a score", "bad"
	}
	return fmt.Sprintf("finished, %s of %s attempts without a score", view.Count(int64(bad)), view.Count(int64(all))), "warn"
}

// Score writes a score with six significant digits, or more if its integer part needs
// them. It uses an exponent only where a person would.
func Score(v float64) string {
	if math.IsNaN(v) {
		return "NaN"
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil || math.Abs(v) >= 1e6 {
		rounded = math.Round(v)
	}
	return view.Score(rounded)
}

// Name is the key of a step's instance as tables write it, with dots between its parts.
func Name(address string) string { return strings.ReplaceAll(addr.KeyOf(address), "/", " · ") }
