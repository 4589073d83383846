package site

import (
	"errors"
	"fmt"

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

// compareMasked compares the attempts of each agent at a version and its masked one.
func (s *Site) compareMasked() error {
	for _, t := range s.Tables {
		for _, other := range s.Tables {
			if other.Task != t.Task || other.Version != competitions.MaskedVersion(t.Version) {
				continue
			}
			class := map[string]string{}
			for _, a := range other.Agents {
				class[a.Name] = a.Class
			}
			for _, a := range t.Agents {
				if class[a.Name] != a.Class {
					continue // what differs is not owed to ids alone
				}
				plain, _ := t.Board.Graded(a.Name) // both have reports of it
				masked, _ := other.Board.Graded(a.Name)
				c, err := board.Compare(plain, masked, other.Board.Competitions())
				if errors.Is(err, board.ErrNothingShared) {
					continue
				}
				if err != nil {
					return err
				}
				s.Masked = append(s.Masked, Masked{t.Setting, a.Name, &c})
			}
		}
	}
	return nil
}

// MaskedDifferences draws the differences.
func (s *Site) MaskedDifferences() plot {
	var rows []page.Estimate
	for _, m := range s.Masked {
		d, ok := m.Comparison.Figures[shownFigure]
		if !ok {
			continue
		}
		rows = append(rows, estimate(fmt.Sprintf("%s, %s − %s", m.Agent, m.Version, competitions.MaskedVersion(m.Version)), d, 1))
	}
	return plot{Title: "Version less masked version", Plot: page.Intervals(rows, "difference in competitions with a medal, percentage points"), Note: intervalNote}
}
