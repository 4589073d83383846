package stat

import (
	"math"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// BradleyTerry returns the logarithms of the strengths, of mean 0, that make the wins most
// likely, where i beats j with the probability s(i) / (s(i) + s(j)). A tie is half a win of
// both. wins[i][j] are those of i against j; all but those of an agent against itself must
// be positive, or no maximum exists.
//
// Source: Bradley and Terry, Rank analysis of incomplete block designs, Biometrika 39
// (1952); the iteration of Newman, Efficient computation of rankings from pairwise
// comparisons, Journal of Machine Learning Research 24 (2023).
func BradleyTerry(wins [][]float64) []float64 {
	s := lists.Of(wins, func([]float64) float64 { return 1 })
	for range 100_000 {
		moved := 0.0
		for i := range s {
			won, lost := 0.0, 0.0
			for j := range s {
				if i != j {
					won += float64(wins[i][j]*s[j]) / (s[i] + s[j])
					lost += wins[j][i] / (s[i] + s[j])
				}
			}
			if lost > 0 { // else the agent is alone
				moved = max(moved, math.Abs(won/lost/s[i]-1))
				s[i] = won / lost
			}
		}
		center(s)
		if moved < 1e-14 {
			break
		}
	}
	return lists.Of(s, libm.Log)
}

// center divides strengths by their geometric mean.
func center(s []float64) {
	middle := libm.Exp(metric.Mean(lists.Of(s, libm.Log)))
	for i := range s {
		s[i] /= middle
	}
}

// Performance is the logarithm of the strength at which an agent is expected to win a share
// of its comparisons with others, of which it has equally many with each. The share is
// between 0 and 1, exclusively.
func Performance(others []float64, share float64) float64 {
	low, high := -1000.0, 1000.0
	for {
		at := low + float64((high-low)/2)
		if at == low || at == high {
			return at
		}
		expected := metric.Mean(lists.Of(others, func(other float64) float64 { return 1 / (1 + libm.Exp(other-at)) }))
		if expected < share {
			low = at
		} else {
			high = at
		}
	}
}
