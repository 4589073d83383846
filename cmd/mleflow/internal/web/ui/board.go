package ui

import (
	"context"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/results"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/report"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
)

// boardSoFar returns the leaderboard of the attempts graded so far; none before the
// first grade. A report that cannot be read is tried again the next time.
func (u *UI) boardSoFar(ctx context.Context, m *model, sum *ledger.Summary) ([]page.Fact, error) {
	var reports []grading.Graded
	err := u.Results(m.past, func(c Results) error {
		for i := range sum.Steps {
			s := &sum.Steps[i]
			if s.Kind != conditions.GradeKind || s.Outputs["report"] == "" {
				continue
			}
			g, known := m.reports[s.Address]
			if !known {
				var err error
				if g, err = results.Read[grading.Graded](ctx, c, s.Outputs["report"]); err != nil {
					continue
				}
				m.reports[s.Address] = g
			}
			reports = append(reports, g)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	catalog, err := u.Catalog(m.past)
	if err != nil {
		return nil, err
	}
	return report.SoFar(reports, catalog, sum), nil
}

// outputs are the outputs of a run, its leaderboards with labels if their data are there.
func (u *UI) outputs(ctx context.Context, m *model, sum *ledger.Summary) []event.OutputValue {
	outputs := sum.Outputs
	_ = u.Results(m.past, func(c Results) (err error) { // else as the run wrote them
		outputs, err = report.DrawBoards(ctx, c, sum, report.WithLabels)
		return err
	})
	return outputs
}
