package ui

import (
	"context"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/page"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/report"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
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
				if g, err = readReport(ctx, c, s.Outputs["report"]); err != nil {
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
