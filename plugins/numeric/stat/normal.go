package stat

import (
	"math"

	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

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
