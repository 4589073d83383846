package site

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/rungroup"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Recomputed says what the public grading reports of a published row give: Differs the
// splits with other figures than published, and Why why there are none.
type Recomputed struct {
	Differs []string `json:"differs,omitempty"`
	Why     string   `json:"why,omitempty"`
}

// publishedSplits are the splits of published rows, in the order of their columns.
func publishedSplits(catalog *competitions.Catalog) (splits []board.SplitIDs) {
	for _, name := range []competitions.Set{"low", "medium", "high", "all"} {
		ids, _ := catalog.Set(name) // every catalog has these
		splits = append(splits, board.SplitIDs{Name: string(name), IDs: ids})
	}
	return splits
}

// claims are the published figures of a split.
func (r *Reported) claims(split string) (mean, sem *float64) {
	return *r.numbers()[split], *r.numbers()[split+"_sem"]
}

// Recompute computes rows from the reports of their experiments in a folder of run
// groups. It returns those that it could not, with the reasons.
func Recompute(rows []Reported, runs string, catalog *competitions.Catalog) (left []string) {
	splits := publishedSplits(catalog)
	for i := range rows {
		r := &rows[i]
		r.Recomputed = &Recomputed{}
		if err := r.recompute(runs, splits); err != nil {
			r.Recomputed.Why = strings.ReplaceAll(err.Error(), runs, "the run groups")
			left = append(left, cmp.Or(r.Experiment, r.Agent)+": "+r.Recomputed.Why)
		}
	}
	return left
}

func (r *Reported) recompute(runs string, splits []board.SplitIDs) error {
	if r.Experiment == "" {
		return errors.New("the row names no experiment")
	}
	found, err := rungroup.ReadExperiment(runs, r.Experiment)
	if err != nil {
		return err
	}
	all, err := board.Selection{Mixed: true, Seeds: board.Seeds{PadMissing: r.Padded == "yes"}, Splits: splits}.Standing(found.Reports)
	if err != nil {
		return err
	}
	for _, split := range splits {
		mean, sem := r.claims(split.Name)
		e, known := all.Board.Splits[split.Name][shownFigure]
		if !claimed(mean, e.Mean) || !claimed(sem, e.SEM) || !known && mean != nil {
			r.Recomputed.Differs = append(r.Recomputed.Differs, split.Name+" "+cmp.Or(all.Board.Skipped[split.Name], rateCell((*float64)(&e.Mean), (*float64)(&e.SEM))))
		}
	}
	return nil
}

// claimed reports whether a published figure is a value with two decimals, rounded or
// cut off. A figure that was not published is.
func claimed(published *float64, value grading.Number) bool {
	return published == nil || math.Abs(*published-float64(value)) < 0.01
}

// misreported finds the rows whose reports give other figures.
func (s *Site) misreported() {
	for _, r := range s.Reported {
		if r.Recomputed != nil && len(r.Recomputed.Differs) > 0 {
			s.Findings = append(s.Findings, Finding{Kind: Misreported, About: r.Experiment, Text: "the published row of " + r.Agent + " has other figures than its grading reports, which give " + strings.Join(r.Recomputed.Differs, ", ")})
		}
	}
}

// Published has the rows that can be compared with published ones, with their
// places, and below them the published ones, which have none.
func (s *Site) Published() page.Grid {
	var rows []publishedRow
	splits := publishedSplits(s.catalog)
	for _, t := range s.Tables {
		for _, a := range t.Agents {
			counted, _ := conditions.Counted(a.rows, func(r *Row) []string { return r.Report.Conditions })
			var flags []board.Flags
			for _, r := range counted {
				flags = append(flags, board.FlagsOf(r.Report))
			}
			if b, err := board.NewBoard(flags, splits, board.Seeds{}); err == nil && t.Task == string(competitions.TaskReference) && t.Version == "v1" && !t.Unchecked {
				rows = append(rows, a.published(b))
			}
		}
	}
	for _, r := range s.Reported {
		rows = append(rows, r.published())
	}
	columns := []page.Column[publishedRow]{
		texts("Place", func(p publishedRow) string { return cmp.Or(p.place, "–") }), cells("Agent", func(p publishedRow) cell { return p.agent }), texts("LLM(s) used", func(p publishedRow) string { return cmp.Or(p.Models, "–") }),
	}
	for i, name := range []string{">Low == Lite (%)", ">Medium (%)", ">High (%)", ">All (%)"} {
		columns = append(columns, texts(name, func(p publishedRow) string { return rateCell(p.claims(splits[i].Name)) }))
	}
	return page.NewGrid("Recomputed and published rows", rows, append(columns, texts(">Running Time (hours)", func(p publishedRow) string { return cmp.Or(p.Hours, "–") }), texts("Date", func(p publishedRow) string { return cmp.Or(p.Date, "–") }),
		texts("Note", func(p publishedRow) string { return p.note }), texts("Source code", func(p publishedRow) string { return cmp.Or(p.SourceCode, "–") }),
		texts("Grading reports", func(p publishedRow) string { return cmp.Or(p.GradingReports, "–") }), cells("Checked", func(p publishedRow) cell { return p.checked }), cells("Source", func(p publishedRow) cell { return p.source }))...)
}

// publishedRow is a row of the table of published rows.
type publishedRow struct {
	*Reported
	place, note            string
	agent, checked, source cell
}

func (a *Agent) published(b board.Board) publishedRow {
	out := Reported{Agent: a.Name, Models: strings.Join(a.Models, " "), GradingReports: "in the bundle", Hours: conditions.Hours(a.conditions()...)}
	numbers := out.numbers()
	for split, by := range b.Splits {
		e, known := by[shownFigure]
		if known {
			*numbers[split] = (*float64)(&e.Mean)
		}
		if known && b.SeedsPerSplit[split] > 1 {
			*numbers[split+"_sem"] = (*float64)(&e.SEM)
		}
	}
	for _, r := range a.rows {
		out.Date = max(out.Date, r.Bundle.Started.UTC().Format(time.DateOnly))
	}
	return publishedRow{&out, strings.TrimSpace(a.ClassLetter + " " + a.place()), "", cell{Text: a.Name, Link: a.path()}, a.checked(), cell{Text: "bundle", Link: a.path()}}
}

// checked says how the agent's rows were checked.
func (a *Agent) checked() cell {
	if a.Standings[verify.Claimed] > 0 {
		return pill(standingText(a.Standings), "warn")
	}
	return pill(standingText(a.Standings), "good")
}

// place is the place on the table, "–" without one.
func (a *Agent) place() string { return cmp.Or(a.PlaceText(), "–") }

// letter is that of the class of an agent, also on a table of one class.
func letter(a aggregate.Agent) string { return cmp.Or(a.ClassLetter, results.Letter(0)) }

func (r *Reported) published() publishedRow {
	p := publishedRow{Reported: r, note: r.Note, agent: outside(r.Agent, r.URL), checked: pill("reported, not verified", "warn"), source: outside("–", cmp.Or(r.Source, r.URL))}
	if p.source.Link != "" {
		p.source.Text = strings.TrimSuffix("source, read "+r.Read, ", read ")
	}
	switch c := r.Recomputed; {
	case c == nil || c.Why != "":
	case len(c.Differs) > 0:
		p.checked = pill("its reports differ", "bad")
		p.note = strings.TrimPrefix(p.note+"; its reports give "+strings.Join(c.Differs, ", "), "; ")
	default:
		p.checked = pill("recomputed from its reports", "good")
	}
	return p
}

// rateCell has two decimals, as published figures have.
func rateCell(mean, sem *float64) string {
	switch {
	case mean == nil:
		return "–"
	case sem == nil:
		return fmt.Sprintf("%.2f", *mean)
	}
	return fmt.Sprintf("%.2f ± %.2f", *mean, *sem)
}
