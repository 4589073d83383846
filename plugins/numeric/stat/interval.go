package stat

import (
	"math"

	"github.com/mleflow/mleflow/plugins/numeric/libm"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// Interval is a confidence interval.
type Interval struct {
	Lower, Upper float64
}

// Around is the interval of a half-width around an estimate, within bounds that
// the quantity cannot leave.
func Around(estimate, half, lowest, highest float64) Interval {
	return Interval{max(estimate-half, lowest), min(estimate+half, highest)}
}

// MinClusters is the number of strata below which there is no interval over
// other strata: with four, it would hold every difference that there can be.
const MinClusters = 5

// Sample is independent outcomes of one agent at one competition.
type Sample struct {
	N    int
	Mean float64
	// Variance is that of one outcome, without bias (n-1); NaN of fewer than two.
	Variance float64
}

// NewSample describes outcomes.
func NewSample(values []float64) Sample {
	s := Sample{len(values), metric.Mean(values), math.NaN()}
	if s.N > 1 {
		squares := make([]float64, s.N)
		for i, v := range values {
			squares[i] = float64((v - s.Mean) * (v - s.Mean))
		}
		s.Variance = metric.Sum(squares) / float64(s.N-1)
	}
	return s
}

// Within is the half-width of the interval over other runs at the same
// competitions: of an agent's mean of means if there is one group, of the
// difference of two agents' if there are two. Each group has the samples of an
// agent, one a competition. Outcomes are between 0 and 1.
//
// A competition with a single run says nothing of how runs vary, and the others
// cannot speak for it: then there is no interval.
//
// The variances of the competitions' means are added up, and Student's t takes
// their degrees of freedom together. In N runs that all agree, outcomes of
// another value may still have a rate of ln(2/(1-confidence))/N, the rule of
// three. This is added in quadrature: few runs agree by chance where rates are
// near 0 or 1, and a width of zero would claim certainty.
//
// Source: Cochran, Sampling Techniques (1977), 5.4; Hanley and Lippman-Hand, If
// nothing goes wrong, is everything all right?, JAMA 249 (1983).
func Within(confidence float64, groups ...[]Sample) (half float64, ok bool) {
	variance, unseen, df := 0.0, 0.0, 0
	for _, samples := range groups {
		runs, sum := 0, 0.0
		for _, s := range samples {
			if s.N < 2 {
				return 0, false
			}
			sum += s.Variance / float64(s.N)
			runs += s.N
			df += s.N - 1
		}
		variance += sum / float64(len(samples)*len(samples))
		rate := rare(confidence, runs)
		unseen += float64(rate*rate) / float64(len(groups))
	}
	t := Student(confidence, df)
	return math.Sqrt(float64(t*t*variance) + unseen), df > 0
}

// Across is the half-width of the interval of a mean over other competitions
// like these, from one value for each, which has the variation of runs in it.
// Values are between -1 and 1. Below MinClusters there is none. It is at least
// what the rule of three leaves, as in Within.
func Across(confidence float64, values []float64) (half float64, ok bool) {
	k := len(values)
	if k < MinClusters {
		return 0, false
	}
	t := Student(confidence, k-1)
	return max(float64(t*math.Sqrt(NewSample(values).Variance/float64(k))), rare(confidence, k)), true
}

// rare is the highest rate of what n outcomes do not show, by the rule of three.
func rare(confidence float64, n int) float64 {
	return -libm.Log((1-confidence)/2) / float64(n)
}

// Welch is the half-width of the interval of the mean of one sample, or of the
// difference of two, of values without bounds. Samples of one have none, nor
// have values that are all equal, which would give a width of zero. The degrees
// of freedom are rounded down.
//
// Source: Welch, The generalization of Student's problem when several different
// population variances are involved, Biometrika 34 (1947).
func Welch(confidence float64, samples ...Sample) (half float64, ok bool) {
	variance, square := 0.0, 0.0
	for _, s := range samples {
		if s.N < 2 {
			return 0, false
		}
		v := s.Variance / float64(s.N)
		variance += v
		square += float64(v*v) / float64(s.N-1)
	}
	if square == 0 {
		return 0, false
	}
	df := int(float64(variance*variance)/square + 1e-9)
	return Student(confidence, df) * math.Sqrt(variance), true
}
