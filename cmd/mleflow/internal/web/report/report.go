package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"

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
	Outcome         page.Fact
	Totals          []page.Fact
	Timeline, Graph template.HTML
	Kinds           []string
	Blocks          page.Blocks
	Rows            []Step
	RowsLeftOut     int
	PinsLeftOut     int
}

// Write writes the report.
func Write(w io.Writer, d Data) error {
	content, err := page.Fill(body(), lay(d))
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return page.Frame{Title: d.Run.File + " · run " + d.Run.ID, Version: d.Run.Version, Policy: page.FilePolicy(), Wide: true, Body: content}.Write(w)
}

// lay makes the drawings and counts of the page.
func lay(d Data) *pageData {
	p := &pageData{Data: d}
	p.Outcome.Value, p.Outcome.Class = page.Verdict(d.Run.State, d.Run.Unscored, d.Run.Attempts)
	p.Competitions = slices.Clone(d.Competitions)
	for i := range p.Competitions {
		c := &p.Competitions[i]
		c.AmongPeople = page.Distribution(c.People, rowsOf(c.Scores))
	}
	bars := make([]page.Bar, len(d.Steps))
	for i, s := range d.Steps {
		bars[i] = s.Bar
		block := p.Blocks.Add(s.Block, s.Status, s.After...)
		if !s.Started.IsZero() {
			block.Time += s.Duration
		}
	}
	p.Kinds = page.Kinds(bars)
	p.Timeline = page.Timeline(d.Run.Started, bars, p.Kinds)
	p.Nodes = slices.Clone(d.Nodes)
	for i := range p.Nodes {
		p.Nodes[i].Plot = page.Timeline(d.Run.Started, p.Nodes[i].Jobs, p.Kinds)
	}
	p.Graph = p.Blocks.Graph("", false)
	p.Totals = p.totals()
	p.Rows = d.Steps[:min(len(d.Steps), rowsShown)]
	p.RowsLeftOut = len(d.Steps) - len(p.Rows)
	p.Pins = d.Pins[:min(len(d.Pins), rowsShown)]
	p.PinsLeftOut = len(d.Pins) - len(p.Pins)
	return p
}

// rowsOf are the scores of each agent, in the order they first appear.
func rowsOf(scores []Score) (rows []page.Row) {
	for _, s := range scores {
		if rows = page.AddScores(rows, s.Agent); s.Scored {
			rows = page.AddScores(rows, s.Agent, s.Value)
		}
	}
	return rows
}

// totals counts the attempts and the steps of the run.
func (p *pageData) totals() (facts []page.Fact) {
	if r := p.Run; r.Attempts > 0 {
		scored := page.Fact{Name: "attempts scored", Value: fmt.Sprintf("%d of %d", r.Attempts-r.Unscored, r.Attempts)}
		if r.Unscored > 0 {
			scored.Class = "bad"
		}
		facts = append(facts, scored)
	}
	of := func(status event.Status) (n int) {
		for _, b := range p.Blocks {
			n += b.Of(string(status))
		}
		return n
	}
	cached := view.Count(int64(of(event.Cached)))
	if all := len(p.Steps); all > 0 {
		cached += fmt.Sprintf(" (%d%%)", of(event.Cached)*100/all)
	}
	facts = append(facts, page.Fact{Name: "steps", Value: view.Count(int64(len(p.Steps)))}, page.Fact{Name: "ran", Value: view.Count(int64(of(event.Ran)))}, page.Fact{Name: "from the cache", Value: cached})
	if n := of(event.Failed); n > 0 {
		facts = append(facts, page.Fact{Name: "failed", Value: view.Count(int64(n)), Class: "bad"})
	}
	return facts
}
