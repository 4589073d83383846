package aggregate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
)

// Comparison compares two agents; see board.Comparison.
type Comparison struct {
	First  string `json:"first"`
	Second string `json:"second"`
	board.Comparison
}

// Compare compares the first agent of each list with each of the others, over all
// competitions of the board. Their p-values are adjusted for each other.
func (b *Board) Compare(lists [][]string) error {
	ids := b.Competitions()
	for _, agents := range lists {
		for i := 1; i < len(agents); i++ {
			pairs := b.pairs(agents[0], agents[i])
			for _, pair := range pairs {
				c, err := b.compare(pair[0], pair[1], ids)
				if errors.Is(err, board.ErrNothingShared) && (len(pairs) > 1 || len(final(b.Entries)) < len(b.Entries)) {
					continue // yet: the notes say that attempts are missing or not final
				}
				if err != nil {
					return fmt.Errorf("%s and %s: %w", pair[0], pair[1], err)
				}
				b.Comparisons = append(b.Comparisons, c)
			}
		}
	}
	var all []*board.Comparison
	for i := range b.Comparisons {
		all = append(all, &b.Comparisons[i].Comparison)
	}
	board.Adjust(all...)
	return nil
}

// pairs are the agents to compare for two names. Where an agent was split by budgets, they
// are those of one class or, without such, all.
func (b *Board) pairs(first, second string) [][2]string {
	whole := map[string]string{}
	for _, e := range b.Entries {
		whole[e.Agent] = cmp.Or(e.Whole, e.Agent)
	}
	of := func(name string) []Agent {
		list := slices.DeleteFunc(slices.Clone(b.Agents), func(a Agent) bool { return a.Name != name && whole[a.Name] != name })
		if len(list) == 0 {
			list = []Agent{{Name: name}} // compare says that there is none
		}
		return list
	}
	var all, same [][2]string
	for _, x := range of(first) {
		for _, y := range of(second) {
			if all = append(all, [2]string{x.Name, y.Name}); x.Class == y.Class {
				same = append(same, [2]string{x.Name, y.Name})
			}
		}
	}
	if len(same) > 0 {
		return same
	}
	return all
}

// Sentence says a comparison of the board in words.
func (b *Board) Sentence(c Comparison) string {
	side := func(agent string) results.Side { return results.Side{Name: agent, Attempts: b.attempts(agent)} }
	return results.Recalled(side(c.First), side(c.Second), c.Comparison).Sentence()
}

// attempts are those of an agent, or of all without a name.
func (b *Board) attempts(agent string) (list []*results.Attempt) {
	for _, e := range b.Entries {
		if agent == "" || e.Agent == agent {
			list = append(list, e.Known())
		}
	}
	return list
}

// UnmarshalJSON reads a stored board. Comparisons that an earlier version of mleflow
// stored are made again: their figures have other names and meanings now.
func (b *Board) UnmarshalJSON(data []byte) error {
	type plain Board
	if err := json.Unmarshal(data, (*plain)(b)); err != nil {
		return err
	}
	if b.ranked() || len(b.Classes()) > 1 {
		b.order() // an earlier version had no order there, or another
	}
	var lists [][]string
	for _, c := range b.Comparisons {
		if c.FirstRuns > 0 {
			return nil
		}
		lists = append(lists, []string{c.First, c.Second})
	}
	b.Comparisons = nil
	if len(lists) > len(b.Agents)*len(b.Agents) {
		return nil // no mleflow wrote these
	}
	return b.Compare(lists)
}

func (b *Board) compare(first, second string, ids []string) (Comparison, error) {
	x, err := b.Graded(first)
	if err != nil {
		return Comparison{}, err
	}
	y, err := b.Graded(second)
	if err != nil {
		return Comparison{}, err
	}
	c, err := board.Compare(x, y, ids)
	return Comparison{first, second, c}, err
}

// Graded returns the reports of an agent of the board.
func (b *Board) Graded(agent string) ([]grading.Graded, error) {
	var out []grading.Graded
	for _, e := range b.Entries {
		if e.Agent == agent {
			out = append(out, e.graded())
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	var names []string
	for _, a := range b.Agents {
		names = append(names, a.Name)
	}
	return nil, fmt.Errorf("compare: there is no report of agent %q; there are reports of %s", agent, strings.Join(names, ", "))
}

// Competitions returns the competitions of the board, sorted.
func (b *Board) Competitions() []string {
	var ids []string
	for _, e := range b.Entries {
		ids = append(ids, e.Report.CompetitionID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
