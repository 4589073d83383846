package site

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/audit"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/rungroup"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Recomputed holds what the public grading reports of a published row give.
type Recomputed struct {
	// Figures are the percentages with any medal, by split.
	Figures map[string]board.Estimate `json:"figures,omitempty"`
	// Differs names the published figures that are others, with those of the reports.
	Differs []string `json:"differs,omitempty"`
	// Why says why there are no figures.
	Why string `json:"why,omitempty"`
}

// publishedSplits are the splits of published rows, in the order of their columns.
var publishedSplits = []competitions.Set{"low", "medium", "high", "all"}

// claims are a row's published figures of a split.
func (r *Reported) claims(split competitions.Set) (mean, sem *float64) {
	_, numbers := r.columns()
	return *numbers[string(split)], *numbers[string(split)+"_sem"]
}

// Recompute computes the row from the reports of its experiment in a folder of run
// groups. Without an experiment it does nothing.
func (r *Reported) Recompute(runs string, catalog *competitions.Catalog) error {
	if r.Experiment == "" {
		return nil
	}
	q := board.Selection{Mixed: true, Seeds: board.Seeds{PadMissing: r.Padded == "yes"}}
	for _, name := range publishedSplits {
		ids, err := catalog.Set(name)
		if err != nil {
			return err
		}
		q.Splits = append(q.Splits, board.SplitIDs{Name: string(name), IDs: ids})
	}
	found, err := rungroup.ReadExperiment(runs, r.Experiment)
	var all board.Standing
	if err == nil {
		all, err = q.Standing(found.Reports)
	}
	if err != nil {
		r.Recomputed = &Recomputed{Why: strings.ReplaceAll(err.Error(), runs, "the run groups")}
		return nil
	}
	r.Recomputed = &Recomputed{Figures: map[string]board.Estimate{}}
	for _, name := range publishedSplits {
		mean, sem := r.claims(name)
		e, known := all.Board.Splits[string(name)][shownFigure]
		switch {
		case known:
			r.Recomputed.Figures[string(name)] = e
			if !claimed(mean, float64(e.Mean)) || !claimed(sem, float64(e.SEM)) {
				r.Recomputed.Differs = append(r.Recomputed.Differs, fmt.Sprintf("%s %.2f ± %.2f", name, e.Mean, e.SEM))
			}
		case mean != nil:
			r.Recomputed.Differs = append(r.Recomputed.Differs, fmt.Sprintf("%s none (%s)", name, all.Board.Skipped[string(name)]))
		}
	}
	return nil
}

// claimed reports whether a published figure is a value with two decimals, rounded or
// cut off. A figure that was not published is.
func claimed(published *float64, value float64) bool {
	return published == nil || math.Abs(*published-value) < 0.01
}

// misreported are the rows whose reports give other figures.
func misreported(rows []Reported) (list []Finding) {
	for _, r := range rows {
		if r.Recomputed != nil && len(r.Recomputed.Differs) > 0 {
			list = append(list, Finding{Kind: Misreported, About: cmp.Or(r.Experiment, r.Agent), Text: "the published row of " + r.Agent + " has other figures than its grading reports, which give " + strings.Join(r.Recomputed.Differs, ", ")})
		}
	}
	return list
}

// publishedSection has the rows that can be compared with published ones, with their
// places, and below them the published ones, which have none.
func (s *Site) publishedSection() section {
	g := newGrid("Recomputed and published rows", "Place", "Agent", "LLM(s) used", ">Low == Lite (%)", ">Medium (%)", ">High (%)", ">All (%)", ">Running Time (hours)", "Date", "Note", "Source code", "Grading reports", "Checked", "Source")
	for _, t := range s.Tables {
		if t.Task == string(competitions.TaskReference) && t.Version == "v1" && !t.Unchecked {
			for _, a := range t.Agents {
				if cells := s.recomputedRow(a); cells != nil {
					g.add(cells...)
				}
			}
		}
	}
	for _, r := range s.Reported {
		g.add(r.row()...)
	}
	return section{
		ID: "reported", Title: "Recomputed and published", Grids: []grid{g},
		Text: []string{
			"Rows with a place are computed from bundles, at MLE-bench's own texts and versions. The others were published elsewhere: there is no bundle of them here, and they have no place. " +
				"Percentages of competitions with any medal, mean ± standard error. “3 of 22” counts the competitions of a split that an agent attempted; a percentage of some is not one of all.",
			"Recomputed from its reports: the published figures are those of the agent's public grading reports, to two decimals. No submission was graded again, and nothing shows how it was made.",
		},
	}
}

// recomputedRow is nil for an agent without a competition of the splits.
func (s *Site) recomputedRow(a *Agent) []entry {
	cells, any := []entry{text(a.place()), link(a.Name, agentPath(a.Name)), text(cmp.Or(strings.Join(a.Models, " "), "–"))}, false
	for _, name := range publishedSplits {
		shown := "–"
		for _, of := range append([]aggregate.Group{a.Overall}, a.Groups...) {
			ids, err := s.catalog.Set(name)
			e, known := of.Percentages[shownFigure]
			if err != nil || !known || of.Name != string(name) || slices.ContainsFunc(of.Competitions, func(id string) bool { return !slices.Contains(ids, id) }) {
				continue
			}
			any, shown = true, rateCell((*float64)(&e.Mean), (*float64)(&e.SEM))
			if n := len(of.Competitions); n < len(ids) {
				shown += fmt.Sprintf(" (%d of %d)", n, len(ids))
			}
		}
		cells = append(cells, text(shown))
	}
	if !any {
		return nil
	}
	var hours []string
	date := ""
	for _, r := range a.rows {
		date = max(date, r.Bundle.Started.UTC().Format(time.DateOnly))
		if v := r.TimeLimitSeconds; v != nil {
			hours = append(hours, strconv.FormatFloat(*v/3600, 'g', 4, 64))
		}
	}
	slices.Sort(hours)
	return append(cells, text(cmp.Or(strings.Join(slices.Compact(hours), ", "), "–")), text(date), text(""), text("–"), text("in the bundle"), a.checked(), link("bundle", agentPath(a.Name)))
}

// checked says how the agent's rows were checked.
func (a *Agent) checked() entry {
	out := entry{Text: standingText(a.Standings), Pill: "good"}
	if a.Standings[audit.Claimed] > 0 {
		out.Pill = "warn"
	}
	return out
}

// place is the place on the table, "–" without one.
func (a *Agent) place() string {
	place := "–"
	if a.Place > 0 {
		place = strconv.Itoa(a.Place)
	}
	if a.Tied {
		place += "="
	}
	return place
}

func (r *Reported) row() []entry {
	agent, source := text(r.Agent), text("–")
	if r.URL != "" {
		agent = entry{Text: r.Agent, Link: r.URL, Outside: true}
	}
	if at := cmp.Or(r.Source, r.URL); at != "" {
		source = entry{Text: "source", Link: at, Outside: true}
		if r.Read != "" {
			source.Text += ", read " + r.Read
		}
	}
	checked, note := entry{Text: "reported, not verified", Pill: "warn"}, r.Note
	if c := r.Recomputed; c != nil && c.Why == "" {
		checked = entry{Text: "recomputed from its reports", Pill: "good"}
		if len(c.Differs) > 0 {
			checked = entry{Text: "its reports differ", Pill: "bad"}
			note = strings.TrimPrefix(note+"; its reports give "+strings.Join(c.Differs, ", "), "; ")
		}
	}
	cells := []entry{text("–"), agent, text(cmp.Or(r.Models, "–"))}
	for _, name := range publishedSplits {
		mean, sem := r.claims(name)
		cells = append(cells, text(rateCell(mean, sem)))
	}
	return append(cells, text(cmp.Or(r.Hours, "–")), text(cmp.Or(r.Date, "–")), text(note), text(cmp.Or(r.SourceCode, "–")), text(cmp.Or(r.GradingReports, "–")), checked, source)
}

// rateCell has two decimals, as published figures have.
func rateCell(mean, sem *float64) string {
	switch {
	case mean == nil || math.IsNaN(*mean):
		return "–"
	case sem == nil:
		return fmt.Sprintf("%.2f", *mean)
	}
	return fmt.Sprintf("%.2f ± %.2f", *mean, *sem)
}
