package aggregate

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mleflow/mleflow/competitions/board"
)

// SameFigures reports whether two boards hold the same reports and figures. Classes, the
// places in them and the words for ends may differ: other versions of mleflow have others.
func SameFigures(a, b *Board) (bool, error) {
	x, errA := json.Marshal(a.figures())
	y, errB := json.Marshal(b.figures())
	return bytes.Equal(x, y), errors.Join(errA, errB)
}

// figures returns the board without what SameFigures ignores, agents by name.
func (b Board) figures() Board {
	b.Agents = slices.Clone(b.Agents)
	for i := range b.Agents {
		a := &b.Agents[i]
		a.Class, a.ClassLetter, a.Place, a.Tied, a.Rank = "", "", 0, false, nil
		a.Competitions = slices.Clone(a.Competitions)
		for j, r := range a.Competitions {
			n := 0
			for _, count := range r.Unscored {
				n += count
			}
			a.Competitions[j].Unscored = map[string]int{"": n}
		}
	}
	slices.SortFunc(b.Agents, func(x, y Agent) int { return board.CompareNames(x.Name, y.Name) })
	return b
}
