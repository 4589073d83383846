package power

import (
	"math"

	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// Subset is a choice of competitions.
type Subset struct {
	Competitions []string `json:"competitions"`
	// Keeps is the probability that the agent which is better over all
	// competitions is ahead in the subset, by the normal approximation.
	Keeps    float64 `json:"keeps_ranking"`
	Attempts int     `json:"attempts"`
}

// Cheapest returns a small subset that keeps the ranking of the two agents with
// a probability, after some rounds. Competitions are left out one after
// another, always the one that costs least certainty, as long as the
// probability stays; this need not give the smallest subset there is. If all
// competitions together do not reach it, ok is false and the subset is all.
//
// The rates that choose the subset also judge it, so its probability is
// optimistic: the noise that made a competition look decisive is in it twice.
func Cheapest(rates []Rates, rounds int, keep float64) (s Subset, ok bool) {
	better := math.Copysign(1, Difference(rates))
	kept := append([]Rates(nil), rates...)
	if keeps(kept, rounds, better) < keep {
		return subset(kept, rounds, better), false
	}
	for len(kept) > 1 {
		drop, best := -1, 0.0
		for i := range kept {
			rest := append(append([]Rates(nil), kept[:i]...), kept[i+1:]...)
			if k := keeps(rest, rounds, better); k > best {
				drop, best = i, k
			}
		}
		if best < keep {
			break
		}
		kept = append(kept[:drop], kept[drop+1:]...)
	}
	return subset(kept, rounds, better), true
}

func subset(rates []Rates, rounds int, better float64) Subset {
	s := Subset{Keeps: keeps(rates, rounds, better), Attempts: 2 * rounds * len(rates)}
	for _, r := range rates {
		s.Competitions = append(s.Competitions, r.Competition)
	}
	return s
}

// keeps is the probability that the sum of differences has the sign of better.
// Ties count as lost.
func keeps(rates []Rates, rounds int, better float64) float64 {
	mean, variance := 0.0, 0.0
	for _, r := range rates {
		mean += r.First - r.Second
		variance += float64(r.First*(1-r.First)) + float64(r.Second*(1-r.Second))
	}
	mean, variance = mean*float64(rounds)*better, variance*float64(rounds)
	if variance == 0 {
		if mean > 0 {
			return 1
		}
		return 0
	}
	return stat.NormalCDF((mean - 0.5) / math.Sqrt(variance))
}
