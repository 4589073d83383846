package ui

import (
	"math"
	"net/http"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
)

// stepsPage lists the steps of a run.
func (u *UI) stepsPage(r *http.Request, m *model, sum *ledger.Summary, c *content) error {
	t := &table{Noun: "step", Path: runAddress(sum.ID) + "/steps", Placeholder: "address, error", Facets: []string{"status", "kind"}, Columns: []field{{Key: "step", Title: "Step"}, {Key: "status", Title: "Status", Kind: ends},
		{Key: "took", Title: "Took", Kind: spells}, {Key: "tries", Title: "Tries", Kind: amounts}, {Key: "reason", Title: "Reason"}, {Key: "on", Title: "On"}, {Key: "why", Title: "Why it runs"}, {Key: "kind", Title: "Kind", Extra: true}}}
	for _, a := range m.addresses() {
		t.Lines = append(t.Lines, u.stepLine(m, sum, a))
	}
	return t.add(c, r)
}

func (u *UI) stepLine(m *model, sum *ledger.Summary, address string) line {
	s := m.sums.Step(address)
	status := sum.StatusOf(s)
	cells := []cell{{Text: address, Link: stepAddress(sum.ID, address, "")}, {Text: status, Class: status}, {Text: took(s, u.Now(), sum), Value: math.NaN()}, nothing, {}, {}, {}, {Text: m.kind(address)}}
	if i, ok := m.index[address]; ok {
		var why []string
		for _, reason := range m.plan.Steps[i].Reasons {
			why = append(why, reason.Text)
		}
		cells[6].Text = brief(strings.Join(why, "; "))
	}
	if s == nil {
		return line{Cells: cells, Address: address}
	}
	cells[4].Text, cells[5].Text = brief(s.Error), strings.Join(s.Devices, ", ")
	if d := s.Duration.Seconds(); s.Status != "" && cells[2].Text != "" {
		cells[2].Value = d
	}
	if s.LastTry > 0 {
		cells[3] = number(float64(s.LastTry))
	}
	if why := unsuccessful(s); why != "" {
		cells[1].Class, cells[4].Text = "bad", brief(strings.TrimSuffix(why+": "+cells[4].Text, ": "))
	}
	return line{Cells: cells, Address: address}
}

// unsuccessful is why a step that ran brought no score, "" if it did or never does.
func unsuccessful(s *ledger.StepSummary) string {
	pair := attempts.Pair{Attempt: s.Address}
	switch {
	case s.Status != event.Ran && s.Status != event.Cached, s.Kind != conditions.AttemptKind && s.Kind != conditions.GradeKind:
		return ""
	case s.Kind == conditions.GradeKind:
		pair = attempts.Pair{Grade: s.Address}
	}
	a := (&attempts.Journal{Pairs: []attempts.Pair{pair}, Step: func(address string) *ledger.StepSummary {
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
