package aggregate

import (
	"fmt"
	"math"
	"slices"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

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
		scores := make([]float64, len(agents))
		for i, a := range agents {
			scores[i] = a.scoreAt(id)
		}
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
		shares := make([]float64, len(ids))
		for k, v := range ranks[i] {
			shares[k] = (v - 1) / most
		}
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
