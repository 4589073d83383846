package aggregate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
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
			if all = append(all, [2]string{x.Name, y.Name}); x.comparable() == y.comparable() {
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

// of returns the entries of an agent, or all if it is "".
func (b *Board) of(agent string) []Entry {
	return lists.Where(b.Entries, func(e Entry) bool { return agent == "" || e.Agent == agent })
}

// attempts are those of an agent, or of all without a name.
func (b *Board) attempts(agent string) []*results.Attempt {
	return lists.Of(b.of(agent), Entry.Known)
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
	x, errFirst := b.Graded(first)
	y, err := b.Graded(second)
	if err := cmp.Or(errFirst, err); err != nil {
		return Comparison{}, err
	}
	c, err := board.Compare(x, y, ids)
	return Comparison{first, second, c}, err
}

// Graded returns the reports of an agent of the board.
func (b *Board) Graded(agent string) ([]grading.Graded, error) {
	if own := b.of(agent); len(own) > 0 {
		return lists.Of(own, Entry.graded), nil
	}
	names := lists.Of(b.Agents, func(a Agent) string { return a.Name })
	return nil, fmt.Errorf("compare: there is no report of agent %q; there are reports of %s", agent, strings.Join(names, ", "))
}

// Competitions returns the competitions of the board, sorted.
func (b *Board) Competitions() []string {
	return competitionsOf(b.Entries)
}

// competitionsOf returns the competitions of entries, sorted.
func competitionsOf(entries []Entry) []string {
	ids := lists.Of(entries, func(e Entry) string { return e.Report.CompetitionID })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ranking is the version of the order by mean ranks. It is in the keys of boards that may
// have it only, so that the others keep theirs.
const ranking = "1"

// Rank is the place of an agent among those of its class where no competition has a
// leaderboard: at each competition the mean scores are ranked, the best first. Agents with
// equal scores share the mean of their ranks, and those without a score are last.
type Rank struct {
	// Mean is over the competitions, from 1 to the number of agents.
	Mean grading.Number `json:"mean"`
	// Competitions is its 95 % interval over other competitions like these; nil below
	// stat.MinClusters.
	Competitions *board.Interval `json:"interval_competitions"`
	// Wins are the competitions at which no other agent of the class has as good a mean
	// score.
	Wins int `json:"wins"`
}

// ranked reports whether a board is ordered by mean ranks: of several competitions, none
// has a leaderboard.
func (b *Board) ranked() bool {
	return !b.Rehearsal && len(b.Competitions()) > 1 && !slices.ContainsFunc(b.Entries, func(e Entry) bool { return !e.Report.Unranked() })
}

// rank ranks the agents of a class at competitions.
func rank(agents []Agent, ids []string) {
	if len(agents) < 2 {
		return
	}
	ranks, wins := make([][]float64, len(agents)), make([]int, len(agents))
	for _, id := range ids {
		scores := lists.Of(agents, func(a Agent) float64 { return a.scoreAt(id) })
		for i, score := range scores {
			better, same := 0, 0 // the agent itself is among the same
			for _, other := range scores {
				better, same = better+board.Count(other > score), same+board.Count(other == score)
			}
			ranks[i] = append(ranks[i], float64(2*better+same+1)/2)
			wins[i] += board.Count(better == 0 && same == 1)
		}
	}
	for i := range agents {
		r := &Rank{Mean: board.NewEstimate(ranks[i]).Mean, Wins: wins[i]}
		most := float64(len(agents) - 1)
		shares := lists.Of(ranks[i], func(v float64) float64 { return (v - 1) / most })
		if half, ok := stat.Across(board.Level, shares); ok {
			around := stat.Around(float64(r.Mean), float64(half*most), 1, float64(len(agents)))
			r.Competitions = &board.Interval{Lower: grading.Number(around.Lower), Upper: grading.Number(around.Upper)}
		}
		agents[i].Rank = r
	}
}

// scoreAt is the agent's mean score at a competition, where more is better; negative
// infinity without one.
func (a Agent) scoreAt(id string) float64 {
	for _, r := range a.Competitions {
		switch {
		case r.Competition != id || r.Score == nil:
		case r.LowerIsBetter:
			return -float64(r.Score.Mean)
		default:
			return float64(r.Score.Mean)
		}
	}
	return math.Inf(-1)
}

// Text writes the mean rank, with its interval if there is one, and the number of wins.
func (r *Rank) Text() (mean, wins string) {
	if r == nil {
		return "-", "-"
	}
	if mean = fmt.Sprintf("%.2f", float64(r.Mean)); r.Competitions != nil {
		mean += fmt.Sprintf(" (%.2f to %.2f)", float64(r.Competitions.Lower), float64(r.Competitions.Upper))
	}
	return mean, fmt.Sprint(r.Wins)
}

// unrankedSeveral reports whether several competitions of a catalog have no leaderboard.
// Definitions that cannot be read are left out.
func unrankedSeveral(catalog *competitions.Catalog) bool {
	n := 0
	for _, id := range catalog.IDs() {
		if def, err := catalog.Get(id); err == nil && math.IsNaN(def.Medals.Thresholds.Gold) {
			n++
		}
	}
	return n > 1
}
