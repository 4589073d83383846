package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plain"
	"github.com/mleflow/mleflow/engine/template"
)

// rowsShown limits the tables of instances and pins, so that the report of a
// run of 100,000 instances still opens.
const rowsShown = 5000

//go:embed style.css
var styleSheet string

//go:embed page.html
var pageSource string

// page is parsed when it is first needed, not whenever the program starts.
var page = sync.OnceValue(func() *template.Template {
	return template.Must("page", pageSource, map[string]any{
		"bytes":       view.Bytes,
		"color":       func(i int) int { return i % palette },
		"date":        func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") },
		"duration":    view.Duration,
		"rate":        rateText,
		"runStatus":   runStatus,
		"score":       scoreText,
		"published":   competitions.Published,
		"place":       export.Place,
		"statusClass": func(s event.Status) string { return string(s) },
		"isZero":      time.Time.IsZero,
		"isolated":    func(text string) bool { return !strings.Contains(text, conditions.NotIsolated) },
	}, html.EscapeString)
})

// pageData is Data with what is drawn and counted from it.
type pageData struct {
	Data
	CSS         template.Markup
	Policy      string
	Totals      []Fact
	Cards       []card
	Failures    []Step
	Timeline    template.Markup
	NodeRows    []nodeRow
	Graph       template.Markup
	Kinds       []string
	Blocks      []blockRow
	Rows        []Step
	RowsLeftOut int
	PinsLeftOut int
}

// card is a competition and its plot.
type card struct {
	Competition
	Plot template.Markup
	// OffScale says that some score is beyond the plot's scale.
	OffScale bool
}

// blockRow sums up the instances of a block.
type blockRow struct {
	Name                              string
	Total, Ran, Cached, Failed, Other int
	Time                              time.Duration
}

// Write writes the report.
func Write(w io.Writer, d Data) error {
	var b bytes.Buffer
	if err := page().Execute(&b, lay(d)); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	// Escaping keeps texts from being tags; nothing else keeps them from turning
	// the direction of what stands next to them.
	if _, err := w.Write(plain.Source(b.Bytes())); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// lay draws and counts what the page shows.
func lay(d Data) *pageData {
	p := &pageData{Data: d, CSS: template.Markup(styleSheet), Policy: policy()}
	for _, c := range d.Competitions {
		plot, off := drawScores(c)
		p.Cards = append(p.Cards, card{Competition: c, Plot: plot, OffScale: off})
	}
	p.Kinds = kindsOf(d.Steps)
	p.Timeline = drawTimeline(d.Run, d.Steps, p.Kinds)
	p.NodeRows = nodeRows(d, p.Kinds)
	p.Graph = drawGraph(d.Steps)
	p.Blocks = blockRows(d.Steps)
	p.Totals = totals(p.Blocks)
	for _, s := range d.Steps {
		if s.Status == event.Failed {
			p.Failures = append(p.Failures, s)
		}
	}
	p.Rows = d.Steps[:min(len(d.Steps), rowsShown)]
	p.RowsLeftOut = len(d.Steps) - len(p.Rows)
	p.Pins = d.Pins[:min(len(d.Pins), rowsShown)]
	p.PinsLeftOut = len(d.Pins) - len(p.Pins)
	return p
}

// policy forbids everything but this file's own style sheet.
func policy() string {
	sum := sha256.Sum256([]byte(styleSheet))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

func kindsOf(steps []Step) []string {
	var kinds []string
	for _, s := range steps {
		if !slices.Contains(kinds, s.Kind) {
			kinds = append(kinds, s.Kind)
		}
	}
	return kinds
}

func blockRows(steps []Step) []blockRow {
	var rows []blockRow
	index := map[string]int{}
	for _, s := range steps {
		i, ok := index[s.Block]
		if !ok {
			i = len(rows)
			index[s.Block] = i
			rows = append(rows, blockRow{Name: s.Block})
		}
		rows[i].add(s)
	}
	return rows
}

func (r *blockRow) add(s Step) {
	r.Total++
	switch s.Status {
	case event.Ran:
		r.Ran++
	case event.Cached:
		r.Cached++
	case event.Failed:
		r.Failed++
	default:
		r.Other++
	}
	if !s.Started.IsZero() {
		r.Time += s.Duration
	}
}

func totals(rows []blockRow) []Fact {
	var sum blockRow
	for _, r := range rows {
		sum.Total += r.Total
		sum.Ran += r.Ran
		sum.Cached += r.Cached
		sum.Failed += r.Failed
	}
	facts := []Fact{{"steps", view.Count(int64(sum.Total))}, {"ran", view.Count(int64(sum.Ran))}, {"from the cache", cachedText(sum)}}
	if sum.Failed > 0 {
		facts = append(facts, Fact{"failed", view.Count(int64(sum.Failed))})
	}
	return facts
}

func cachedText(sum blockRow) string {
	if sum.Total == 0 {
		return "0"
	}
	return fmt.Sprintf("%s (%d%%)", view.Count(int64(sum.Cached)), sum.Cached*100/sum.Total)
}

func runStatus(s event.Status) string {
	switch s {
	case event.Ran:
		return "complete"
	case event.Cancelled:
		return "interrupted"
	case "":
		return "did not end"
	default:
		return string(s)
	}
}

func rateText(r Rate) string {
	mean := strconv.FormatFloat(r.Mean, 'f', 1, 64)
	if !r.Known {
		return mean
	}
	return mean + " ± " + strconv.FormatFloat(r.SEM, 'f', 1, 64)
}

// scoreText writes a score with six significant digits, or to the unit where
// that is more, and without an exponent that nobody would write.
func scoreText(v float64) string {
	if math.IsNaN(v) {
		return "NaN"
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil || math.Abs(v) >= 1e6 {
		rounded = math.Round(v)
	}
	return view.Score(rounded)
}
