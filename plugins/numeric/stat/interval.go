package stat

import (
	"math"

	"github.com/mleflow/mleflow/cache/leaf/lists"
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
		squares := lists.Of(values, func(v float64) float64 { return float64((v - s.Mean) * (v - s.Mean)) })
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

// AcrossP is the p-value of the test that Across inverts, that the mean is 0: the least
// 1-confidence whose interval does not hold 0. It is 1 below MinClusters.
func AcrossP(values []float64) float64 {
	mean, low, high := math.Abs(metric.Mean(values)), 1e-12, 1.0
	for range 50 {
		p := low + float64((high-low)/2)
		if half, ok := Across(1-p, values); ok && half < mean {
			high = p
		} else {
			low = p
		}
	}
	return high
}

// rare is the highest rate of what n outcomes do not show, by the rule of three.
func rare(confidence float64, n int) float64 { return -libm.Log((1-confidence)/2) / float64(n) }

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

// NormalCDF is the distribution function of the standard normal distribution.
// Its error is a few units in the last place of the smaller of value and
// complement.
func NormalCDF(x float64) float64 {
	t := math.Abs(x)
	density, tail := normalDensity(t), 0.0
	if t < 1 {
		// The odd series of Marsaglia 2004.
		term, sum := t, 0.0
		for k := 3.0; sum+term != sum; k += 2 {
			sum += term
			term *= float64(t*t) / k
		}
		tail = 0.5 - float64(density*sum)
	} else {
		// Laplace's continued fraction, from its end: 200 terms are more than
		// enough from 1 on.
		for k := 200.0; k >= 1; k-- {
			tail = k / (t + tail)
		}
		tail = density / (t + tail)
	}
	if x > 0 {
		return 1 - tail
	}
	return tail
}

func normalDensity(x float64) float64 { return libm.Exp(-float64(x*x)/2) / math.Sqrt(2*math.Pi) }

// NormalQuantile is the inverse of NormalCDF: -Inf at 0, +Inf at 1, NaN
// outside. It is off by a few units in the last place.
func NormalQuantile(p float64) float64 {
	switch {
	case p > 0.5:
		return -NormalQuantile(1 - p)
	case p == 0.5:
		return 0
	case p == 0:
		return math.Inf(-1)
	case !(p > 0):
		return math.NaN()
	}
	// Newton's method on the logarithm, which is concave and so converges from
	// the left, also in the far tail.
	x := max(-math.Sqrt(-2*libm.Log(p)), -37.5) // below, NormalCDF is no longer exact
	for range 60 {
		cdf := NormalCDF(x)
		move := libm.Log(cdf/p) * cdf / normalDensity(x)
		x -= move
		if math.Abs(move) <= 1e-16*math.Abs(x) {
			break
		}
	}
	return x
}

// Student is the distance from 0 within which Student's t distribution has the
// share confidence of its mass: scipy's t.ppf((1+confidence)/2, df). It is
// +Inf without a degree of freedom.
//
// The share within a distance is a finite sum for integer degrees of freedom;
// the distance is found by bisection.
//
// Source: Zelen and Severo, in Abramowitz and Stegun, Handbook of Mathematical
// Functions (1964), 26.7.3 and 26.7.4.
func Student(confidence float64, df int) float64 {
	if df < 1 {
		return math.Inf(1)
	}
	// The cosine of the angle atan(t/√df) is bisected: far out in the tail it
	// keeps its digits, which the sine does not.
	low, high := 0.0, 1.0
	for {
		cos := low + float64((high-low)/2)
		if cos == low || cos == high {
			return math.Sqrt(float64(df)) * math.Sqrt(float64((1-cos)*(1+cos))) / cos
		}
		if studentShare(cos, df) > confidence {
			low = cos
		} else {
			high = cos
		}
	}
}

// studentShare is the mass of the t distribution within the distance whose
// angle has a cosine.
func studentShare(cos float64, df int) float64 {
	sin, square := math.Sqrt(float64((1-cos)*(1+cos))), float64(cos*cos)
	if df%2 == 0 {
		term, sum := 1.0, 1.0
		for k := 2; k < df; k += 2 {
			term = float64(term * float64(square*(float64(k-1)/float64(k))))
			sum += term
		}
		return float64(sin * sum)
	}
	sum := 0.0
	for k, term := 1, cos; k < df; k += 2 {
		sum += term
		term = float64(term * float64(square*(float64(k+1)/float64(k+2))))
	}
	return (libm.Acos(cos) + float64(sin*sum)) * (2 / math.Pi)
}
