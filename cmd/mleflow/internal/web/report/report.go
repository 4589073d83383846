package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/event"
)

// rowsShown limits the tables of instances and pins, so that the report of a
// run of 100,000 instances still opens.
const rowsShown = 5000

//go:embed page.html
var pageSource string

// body is parsed at its first use, not at every start of the program.
var body = sync.OnceValue(func() *template.Template { return page.Parse("report", firstscreen.Parts+pageSource, nil) })

// pageData is Data with its drawings and counts.
type pageData struct {
	Data
	// Outcome is how the run ended.
	Outcome     page.Fact
	Totals      []page.Fact
	Cards       []card
	Timeline    template.HTML
	NodeRows    []nodeRow
	Graph       template.HTML
	Kinds       []string
	Blocks      []blockRow
	Rows        []Step
	RowsLeftOut int
	PinsLeftOut int
}

// card is a competition and its plot.
type card struct {
	Competition
	Plot template.HTML
	// OffScale reports whether some score is beyond the plot's scale.
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
	content, err := page.Fill(body(), lay(d))
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return page.Frame{Title: d.Run.Pipeline + " · run " + d.Run.ID, Version: d.Run.Version, Policy: page.FilePolicy(), Wide: true, Body: content}.Write(w)
}

// lay makes the drawings and counts of the page.
func lay(d Data) *pageData {
	p := &pageData{Data: d}
	p.Outcome.Value, p.Outcome.Class = page.Verdict(d.Run.State, d.Run.Unscored, d.Run.Attempts)
	for _, c := range d.Competitions {
		plot, off := page.Distribution(c.People, rowsOf(c.Scores))
		p.Cards = append(p.Cards, card{Competition: c, Plot: plot, OffScale: off})
	}
	p.Kinds = kindsOf(d.Steps)
	p.Timeline = page.Timeline(d.Run.Started, barsOf(d.Steps), p.Kinds)
	p.NodeRows = nodeRows(d, p.Kinds)
	var blocks page.Blocks
	for _, s := range d.Steps {
		blocks.Add(s.Block, s.Status, s.After...)
	}
	p.Graph = blocks.Graph("", false)
	p.Blocks = blockRows(d.Steps)
	p.Totals = totals(p.Blocks)
	if r := d.Run; r.Attempts > 0 {
		scored := page.Fact{Name: "attempts scored", Value: fmt.Sprintf("%d of %d", r.Attempts-r.Unscored, r.Attempts)}
		if r.Unscored > 0 {
			scored.Class = "bad"
		}
		p.Totals = append([]page.Fact{scored}, p.Totals...)
	}
	p.Rows = d.Steps[:min(len(d.Steps), rowsShown)]
	p.RowsLeftOut = len(d.Steps) - len(p.Rows)
	p.Pins = d.Pins[:min(len(d.Pins), rowsShown)]
	p.PinsLeftOut = len(d.Pins) - len(p.Pins)
	return p
}

// rowsOf are the scores of each agent, in the order they first appear.
func rowsOf(scores []Score) []page.Row {
	var rows []page.Row
	for _, s := range scores {
		i := slices.IndexFunc(rows, func(r page.Row) bool { return r.Name == s.Agent })
		if i < 0 {
			i = len(rows)
			rows = append(rows, page.Row{Name: s.Agent})
		}
		if s.Scored {
			rows[i].Scores = append(rows[i].Scores, s.Value)
		}
	}
	return rows
}

func barsOf(steps []Step) []page.Bar {
	bars := make([]page.Bar, len(steps))
	for i, s := range steps {
		bars[i] = page.Bar{Address: s.Address, Kind: s.Kind, Status: s.Status, Started: s.Started, Duration: s.Duration}
	}
	return bars
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

func totals(rows []blockRow) []page.Fact {
	var sum blockRow
	for _, r := range rows {
		sum.Total += r.Total
		sum.Ran += r.Ran
		sum.Cached += r.Cached
		sum.Failed += r.Failed
	}
	facts := []page.Fact{{Name: "steps", Value: view.Count(int64(sum.Total))}, {Name: "ran", Value: view.Count(int64(sum.Ran))}, {Name: "from the cache", Value: cachedText(sum)}}
	if sum.Failed > 0 {
		facts = append(facts, page.Fact{Name: "failed", Value: view.Count(int64(sum.Failed)), Class: "bad"})
	}
	return facts
}

func cachedText(sum blockRow) string {
	if sum.Total == 0 {
		return "0"
	}
	return fmt.Sprintf("%s (%d%%)", view.Count(int64(sum.Cached)), sum.Cached*100/sum.Total)
}
