package stat

import "math"

// NormalCDF is the distribution function of the standard normal distribution.
func NormalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

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
	x := max(-math.Sqrt(-2*math.Log(p)), -37.5) // below, NormalCDF is no longer exact
	for range 60 {
		cdf := NormalCDF(x)
		density := math.Exp(-float64(x*x)/2) / math.Sqrt(2*math.Pi)
		move := math.Log(cdf/p) * cdf / density
		x -= move
		if math.Abs(move) <= 1e-16*math.Abs(x) {
			break
		}
	}
	return x
}
