package libm

import (
	"math"
	"sync"
)

// powers has 2^(i/64).
type powers struct {
	step   parts // log(2)/64
	factor [64]double
}

var binary = sync.OnceValue(func() *powers {
	p := &powers{step: parts{ln2A / 64, ln2B / 64, ln2C / 64}}
	for i := range p.factor {
		r := reduce(0, float64(i), p.step)
		p.factor[i] = expSeries(double{-r.hi, -r.lo})
	}
	return p
})

// expSeries returns e^x for 0 <= x < 1 by its series.
func expSeries(x double) double {
	sum := double{hi: 1}
	for k := 30.0; k >= 1; k-- {
		sum = add(double{hi: 1}, divide(multiply(sum, x), k))
	}
	return sum
}

// Exp returns e^x: 0 for -Inf, +Inf where the value is too large, NaN for NaN.
// Below 2^-1022 it is rounded twice.
func Exp(x float64) float64 { return expOf(double{hi: x}) }

func expOf(x double) float64 {
	switch {
	case x.hi != x.hi:
		return math.NaN()
	case x.hi > 710:
		return math.Inf(1)
	case x.hi < -746:
		return 0
	}
	p := binary()
	n := math.RoundToEven(float64(x.hi * (64 / math.Ln2)))
	r := reduce(x.hi, n, p.step)
	r = quickSum(r.hi, r.lo+x.lo)
	v := r.hi
	tail := 1.0 / 5040
	tail = float64(tail*v) + 1.0/720
	tail = float64(tail*v) + 1.0/120
	tail = float64(tail*v) + 1.0/24
	tail = float64(tail*v) + 1.0/6
	square := multiply(r, r)
	sum := add(r, double{float64(square.hi / 2), float64(square.lo/2) + float64(float64(square.hi*v)*tail)})
	sum = add(double{hi: 1}, sum)
	return math.Ldexp(multiply(p.factor[int(n)&63], sum).hi, int(n)>>6)
}

// Pow returns x^y for x >= 0: NaN for a negative x, 1 for y = 0, and the limits
// of the function where x is 0 or infinite.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case !(x >= 0) || y != y:
		return math.NaN()
	case x == 0 || math.IsInf(x, 1) || math.IsInf(y, 0):
		if (x < 1) == (y < 0) {
			return math.Inf(1)
		}
		return 0
	}
	log := logSlow(x)
	product := float64(log.hi * y)
	return expOf(quickSum(product, math.FMA(log.hi, y, -product)+float64(log.lo*y)))
}
