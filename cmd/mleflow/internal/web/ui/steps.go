package ui

import (
	"cmp"
	"math"
	"net/http"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// stepRow is a step in the list of those of a run.
type stepRow struct {
	*history.StepSummary
	address, status, class, took, reason string

	seconds float64
}

// stepsPage lists the steps of a run.
func (u *UI) stepsPage(r *http.Request, m *model, sum *history.Summary, c *content) error {
	t := &table{Noun: "step", Path: runAddress(sum.ID) + "/steps", Placeholder: "address, error", Facets: []string{"status", "kind"}}
	var rows []stepRow
	for _, address := range m.addresses() {
		rows = append(rows, u.stepRow(m, sum, address))
	}
	fillTable(t, m.stepColumns(sum.ID), rows, func(s stepRow) line { return line{Address: s.address} })
	t.show(c, r)
	return c.err
}

func (m *model) stepColumns(run string) []page.Column[stepRow] {
	return []page.Column[stepRow]{
		{Key: "step", Title: "Step", Of: func(s stepRow) cell { return cell{Text: s.address, Link: stepAddress(run, s.address, "")} }},
		{Key: "status", Title: "Status", Kind: page.Ends, Of: func(s stepRow) cell { return cell{Text: s.status, Class: s.class} }},
		{Key: "took", Title: "Took", Kind: page.Spells, Of: func(s stepRow) cell { return cell{Text: s.took, Value: s.seconds} }},
		{Key: "tries", Title: "Tries", Kind: page.Amounts, Of: func(s stepRow) cell { return page.Count(s.LastTry).If(s.LastTry > 0) }},
		{Key: "reason", Title: "Reason", Text: func(s stepRow) string { return brief(s.reason) }},
		{Key: "on", Title: "On", Text: func(s stepRow) string { return strings.Join(s.Devices, ", ") }},
		{Key: "why", Title: "Why it runs", Text: func(s stepRow) string { return brief(m.why(s.address)) }},
		{Key: "kind", Title: "Kind", Extra: true, Text: func(s stepRow) string { return m.kind(s.address) }},
	}
}

func (u *UI) stepRow(m *model, sum *history.Summary, address string) stepRow {
	s := cmp.Or(m.sums.Step(address), &history.StepSummary{})
	row := stepRow{StepSummary: s, address: address, status: sum.StatusOf(s), took: took(s, u.Now(), sum), seconds: math.NaN(), reason: brief(s.Error)}
	if row.class = row.status; s.Status != "" && row.took != "" {
		row.seconds = s.Duration.Seconds()
	}
	if why := unsuccessful(s); why != "" {
		row.class, row.reason = "bad", strings.TrimSuffix(why+": "+row.reason, ": ")
	}
	return row
}

// why is why the plan runs a step.
func (m *model) why(address string) string {
	var list []string
	if i, ok := m.planned[address]; ok {
		for _, r := range m.plan.Steps[i].Reasons {
			list = append(list, r.Text)
		}
	}
	return strings.Join(list, "; ")
}

// unsuccessful is why a step that ran brought no score, "" if it did or never does.
func unsuccessful(s *history.StepSummary) string {
	pair := attempts.Pair{Attempt: s.Address}
	switch {
	case s.Status != event.Ran && s.Status != event.Cached, s.Kind != conditions.AttemptKind && s.Kind != conditions.GradeKind:
		return ""
	case s.Kind == conditions.GradeKind:
		pair = attempts.Pair{Grade: s.Address}
	}
	a := (&attempts.Journal{Pairs: []attempts.Pair{pair}, Step: func(address string) *history.StepSummary {
		if address == s.Address {
			return s
		}
		return nil
	}}).List()[0]
	if text, mood := a.Ended(); mood == results.Bad {
		return strings.TrimSuffix(text+": "+a.Reason(), ": ")
	}
	return ""
}
