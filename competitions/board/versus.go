package board

import (
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// compare ranks agents by the shares of the other agents' runs that theirs beat.
func (b Benchmark) compare(agents [][][]Flags) (out []*Ruled, values [][]float64) {
	won := make([][][]float64, len(agents)) // by agent, opponent and competition
	for i := range agents {
		won[i] = make([][]float64, len(agents))
		for j := range agents {
			for at := range agents[i] {
				won[i][j] = append(won[i][j], beaten(agents[i][at], agents[j][at]))
			}
		}
		values = append(values, make([]float64, len(agents[i])))
		wins := 0
		for at := range values[i] {
			least := 1.0
			for j := range agents {
				if j != i {
					values[i][at] += won[i][j][at] / float64(len(agents)-1)
					least = min(least, won[i][j][at])
				}
			}
			wins += Count(least > 0.5)
		}
		out = append(out, &Ruled{Wins: &wins})
	}
	if b.Aggregate == Elo {
		elo(out, won, values)
		return out, values
	}
	most := float64(len(agents) - 1)
	for i, r := range out {
		share := NewEstimate(values[i]).Mean
		r.Value = 1 + grading.Number(most*float64(1-share))
		if half, ok := stat.Across(Level, values[i]); ok {
			r.Competitions = interval(stat.Around(float64(r.Value), float64(half*most), 1, most+1))
		}
	}
	return out, values
}

// beaten is the probability that one of an agent's runs at a competition beats one of
// another's, where a tie is half. No finite score is worse than any, and equal to none.
func beaten(own, others []Flags) float64 {
	order := lists.Of(others, Flags.quality)
	slices.Sort(order)
	sum := 0.0
	for _, f := range own {
		q := f.quality()
		below, _ := slices.BinarySearch(order, q)
		upTo, _ := slices.BinarySearch(order, math.Nextafter(q, math.Inf(1)))
		sum += float64(below+upTo) / 2
	}
	return sum / float64(len(own)*len(others))
}

// quality is the score where more is better; negative infinity without a finite one.
func (f Flags) quality() float64 {
	switch {
	case f.Score == nil:
		return math.Inf(-1)
	case f.lower:
		return -*f.Score
	}
	return *f.Score
}

// EloMean is the mean of the ratings of the agents of a class. A difference of 400 means
// that ten runs are won for each that is lost.
const EloMean = 1500

// elo rates agents by the Bradley-Terry model, most likely for the shares of runs that were
// beaten at each competition, and one draw more between each two agents, without which an
// agent that wins everything would have no finite rating.
//
// As all agents are compared at all competitions, ratings have the order of the mean
// shares. The interval is that of the mean share, each end as the rating at which an agent
// would be expected to have it against the others, whose ratings stay. It is open where the
// share may be 0 or 1.
func elo(out []*Ruled, won [][][]float64, values [][]float64) {
	wins := make([][]float64, len(out))
	for i := range out {
		wins[i] = lists.Of(won[i], func(at []float64) float64 { return float64(float64(len(at))*float64(NewEstimate(at).Mean)) + 0.5 })
	}
	strengths, alike := stat.BradleyTerry(wins), map[float64]float64{}
	for i, r := range out {
		share := float64(NewEstimate(values[i]).Mean)
		key := math.Round(share * 1e12)
		if _, has := alike[key]; !has {
			alike[key] = strengths[i] // equal agents have equal ratings, without rounding errors
		}
		r.Value = grading.Number(rating(alike[key]))
		if half, ok := stat.Across(Level, values[i]); ok {
			n, others := float64(len(values[i])), slices.Delete(slices.Clone(strengths), i, i+1)
			end := func(share float64) float64 { return rating(stat.Performance(others, (float64(n*share)+0.5)/(n+1))) }
			shares, open := stat.Around(share, half, 0, 1), stat.Interval{Lower: math.Inf(-1), Upper: math.Inf(1)}
			if shares.Lower > 0 {
				open.Lower = end(shares.Lower)
			}
			if shares.Upper < 1 {
				open.Upper = end(shares.Upper)
			}
			r.Competitions = interval(open)
		}
	}
}

func rating(strength float64) float64 { return EloMean + float64(400/libm.Log(10)*strength) }

func interval(i stat.Interval) *Interval {
	return &Interval{grading.Number(i.Lower), grading.Number(i.Upper)}
}
