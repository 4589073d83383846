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
	"github.com/mleflow/mleflow/engine/step"
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
	if b.ranked() || b.Benchmark != nil || len(b.Classes()) > 1 {
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

// Competitions returns the competitions of the board, sorted: those of its benchmark, else
// those of its reports.
func (b *Board) Competitions() []string {
	if b.Benchmark != nil {
		return slices.Sorted(slices.Values(b.Benchmark.Competitions))
	}
	return competitionsOf(b.Entries)
}

// competitionsOf returns the competitions of entries, sorted.
func competitionsOf(entries []Entry) []string {
	ids := lists.Of(entries, func(e Entry) string { return e.Report.CompetitionID })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ranking is the version of how boards without medals are ordered and drawn. It is in the
// keys of boards that may have none only, so that the others keep theirs.
const ranking = "2"

// Rank is the place of an agent among those of its class where no competition has a
// leaderboard; see board.MeanRank.
type Rank struct {
	// Mean is over the competitions, from 1 to the number of agents.
	Mean grading.Number `json:"mean"`
	// Competitions is its 95 % interval over other competitions like these; nil below
	// stat.MinClusters.
	Competitions *board.Interval `json:"interval_competitions"`
	// Wins are the competitions at which a run of the agent is more likely than not to beat
	// one of each other agent of the class.
	Wins int `json:"wins"`
}

// Medalless reports whether no competition of the board has a leaderboard.
func (b *Board) Medalless() bool {
	return !b.Rehearsal && len(b.Entries) > 0 && !slices.ContainsFunc(b.Entries, func(e Entry) bool { return !e.Report.Unranked() })
}

// ranked reports whether a board is ordered by mean ranks: of several competitions, none
// has a leaderboard, and no benchmark has a rule.
func (b *Board) ranked() bool {
	return b.Benchmark == nil && b.Medalless() && len(b.Competitions()) > 1
}

// Rule is the benchmark whose rule has figures; nil without one. A rehearsal has only those
// that compare agents: its scores mean nothing beside people's.
func (b *Board) Rule() *board.Benchmark {
	if b.Benchmark == nil || b.Rehearsal && !b.Benchmark.Compares() {
		return nil
	}
	return b.Benchmark
}

// rank gives the agents of a class their figures by a benchmark's rule, or their mean ranks.
func (b *Board) rank(agents []Agent) {
	rule, ids := b.Rule(), b.Competitions()
	if rule == nil && !b.ranked() {
		return
	}
	by := cmp.Or(rule, &board.Benchmark{Benchmark: step.Benchmark{Aggregate: board.MeanRank}})
	ruled := by.Rank(lists.Of(agents, func(a Agent) [][]board.Flags { return b.runs(a.Name, ids) }))
	for i, r := range ruled {
		a := &agents[i]
		if rule == nil && r != nil {
			a.Rank = &Rank{Mean: r.Value, Competitions: r.Uncertainty.Competitions, Wins: *r.Wins}
			continue
		}
		a.Ruled, a.byRule = r, rule != nil && rule.Aggregate != board.Medals
		if r != nil {
			a.merit = by.Order(r)
		}
	}
}

// runs are those of an agent at competitions that rank it: for a benchmark complete seeds,
// and nil without such; else all that count, and none has no score.
func (b *Board) runs(agent string, ids []string) (runs [][]board.Flags) {
	own := b.of(agent)
	if seeds, err := arrange(own, ids, b.PadMissing); b.Benchmark != nil && err == nil {
		return board.ByCompetition(seeds)
	}
	if b.Benchmark != nil && !b.PadMissing {
		return nil
	}
	by := lists.By(final(own), func(e Entry) string { return e.Report.CompetitionID })
	for _, id := range ids {
		flags := lists.Of(by[id], func(e Entry) board.Flags { return board.FlagsOf(e.Report) })
		if len(flags) == 0 {
			flags = []board.Flags{{CompetitionID: id}}
		}
		runs = append(runs, flags)
	}
	return runs
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

// anyUnranked reports whether a competition of a catalog has no leaderboard. Definitions
// that cannot be read are left out.
func anyUnranked(catalog *competitions.Catalog) bool {
	return slices.ContainsFunc(catalog.IDs(), func(id string) bool {
		def, err := catalog.Get(id)
		return err == nil && len(def.Medals.Scores) == 0
	})
}
