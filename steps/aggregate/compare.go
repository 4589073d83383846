package aggregate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
)

// Comparison compares two agents; see board.Comparison.
type Comparison struct {
	First  string `json:"first"`
	Second string `json:"second"`
	board.Comparison
}

// Compare compares the first agent with each of the others, over all competitions of
// the board.
func (b *Board) Compare(agents []string, how board.Resampling) error {
	if len(agents) == 0 {
		return nil
	}
	first, err := b.graded(agents[0])
	if err != nil {
		return err
	}
	ids := b.competitions()
	for _, name := range agents[1:] {
		second, err := b.graded(name)
		if err != nil {
			return err
		}
		c, err := board.NewPairing(first, second, ids).Compare(how)
		if errors.Is(err, board.ErrUnpaired) && len(final(b.Entries)) < len(b.Entries) {
			continue // yet: the notes say that attempts are not final
		}
		if err != nil {
			return fmt.Errorf("%s and %s: %w", agents[0], name, err)
		}
		b.Comparisons = append(b.Comparisons, Comparison{agents[0], name, c})
	}
	return nil
}

func (b *Board) graded(agent string) ([]grading.Graded, error) {
	var out []grading.Graded
	for _, e := range final(b.Entries) {
		if e.Agent == agent {
			out = append(out, e.graded())
		}
	}
	if len(out) > 0 || slices.ContainsFunc(b.Entries, func(e Entry) bool { return e.Agent == agent }) {
		return out, nil
	}
	var names []string
	for _, a := range b.Agents {
		names = append(names, a.Name)
	}
	return nil, fmt.Errorf("compare: there is no report of agent %q; there are reports of %s", agent, strings.Join(names, ", "))
}

// competitions returns the competitions of the board, sorted.
func (b *Board) competitions() []string {
	var ids []string
	for _, e := range b.Entries {
		ids = append(ids, e.Report.CompetitionID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
