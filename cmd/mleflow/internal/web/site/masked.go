package site

import (
	"fmt"
	"strconv"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
)

// Masked is an agent's result at a version of competitions minus its result at the masked
// version, where known ids are worthless.
type Masked struct {
	Setting        // that of the version
	Agent   string `json:"agent"`
	// Comparison has the version first and the masked one second.
	Comparison *board.Comparison `json:"comparison"`
}

// compareMasked pairs the attempts of each agent at a version and its masked one.
func (s *Site) compareMasked() error {
	for _, t := range s.Tables {
		for _, other := range s.Tables {
			if other.Task != t.Task || other.Version != competitions.MaskedVersion(t.Version) {
				continue
			}
			for _, a := range t.Agents {
				pairs := board.NewPairing(t.graded(a.Name), other.graded(a.Name), other.competitions())
				if len(pairs.Pairs) == 0 {
					continue
				}
				c, err := pairs.Compare(board.DefaultResampling)
				if err != nil {
					return err
				}
				s.Masked = append(s.Masked, Masked{t.Setting, a.Name, &c})
			}
		}
	}
	return nil
}

// maskedSection draws the differences.
func (s *Site) maskedSection() section {
	var rows []page.Estimate
	for _, m := range s.Masked {
		d, ok := m.Comparison.Figures[shownFigure]
		if !ok {
			continue
		}
		e := page.Estimate{
			Name: fmt.Sprintf("%s, %s − %s", m.Agent, m.Version, competitions.MaskedVersion(m.Version)), Value: float64(d.Difference),
			Note: fmt.Sprintf("%d pairs, p %s", m.Comparison.Pairs, strconv.FormatFloat(float64(d.SignFlipP), 'g', 3, 64)),
		}
		if i := d.Stratified; i != nil {
			e.Lower, e.Upper, e.Known = float64(i.Percentile.Lower), float64(i.Percentile.Upper), true
		}
		rows = append(rows, e)
	}
	return section{
		ID: "masked", Title: "Masked versions",
		Text: []string{"A masked version has the same rows, labels and metric under other ids and in another order. What an agent reaches at the version itself and not at the masked one, it owes to ids: of rows that it, or its model, had seen before."},
		Plots: []plot{{
			Title: "Version less masked version", Plot: page.Intervals(rows, "difference in competitions with a medal, percentage points"),
			Note: "Paired by competition and seed. Intervals are 95 % percentile bootstraps over other runs; p is of the sign-flip test over competitions.",
		}},
	}
}
