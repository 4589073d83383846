package libm

import (
	"math"
	"sync"
)

// Log returns the natural logarithm of x, correctly rounded. Special cases
// are those of math.Log.
func Log(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(-1)
	case !(x > 0) || math.IsInf(x, 1): // negative, NaN, +Inf
		return math.Log(x)
	}
	return logOf(x, 0)
}

// Log1p returns log(1+x), correctly rounded. Special cases are those of
// math.Log1p.
func Log1p(x float64) float64 {
	switch {
	case !(x > -1) || math.IsInf(x, 1) || x == 0:
		return math.Log1p(x)
	case math.Abs(x) < 0x1p-54:
		return x - float64(float64(x*x)/2) // decides the rounding of a halfway case only
	}
	hi := 1 + x
	lo := float64(x - float64(hi-1))
	if math.Abs(x) > 1 {
		lo = float64(1 - float64(hi-x))
	}
	return logOf(hi, lo)
}

// logOf returns log(hi+lo) for positive finite hi and |lo| <= ulp(hi)/2.
//
// With hi+lo = 2^e·m and v a short number near 1/m, it is e·log 2 - log v +
// log(1+r), r = m·v-1: the first two from constants of 106 bits, the last from
// its series, first with 69 correct bits and, if those leave the rounding open,
// with about 100. The product m·v is exact in two parts.
func logOf(hi, lo float64) float64 {
	base, r := logParts(hi, lo)
	fast := add(base, log1pFast(r))
	slack := float64(math.Abs(fast.hi) * 0x1p-66)
	if up := fast.hi + (fast.lo + slack); up == fast.hi+(fast.lo-slack) {
		return up
	}
	slow := add(base, log1pSeries(r))
	return slow.hi + slow.lo
}

// logSlow returns log x for a positive finite x with about 100 correct bits.
func logSlow(x float64) double {
	base, r := logParts(x, 0)
	return add(base, log1pSeries(r))
}

// logParts returns base and r with log(hi+lo) = base + log(1+r).
func logParts(hi, lo float64) (base, r double) {
	m, e := split(hi)
	entry := &logTable()[int(float64(m*logSteps)+0.5)-logFirst]
	product := float64(m * entry.inverse)
	r = quickSum(product-1, math.FMA(m, entry.inverse, -product))
	if lo != 0 {
		r = add(r, double{hi: float64(math.Ldexp(lo, -e) * entry.inverse)})
	}
	base = entry.log
	if e != 0 {
		base = add(base, timesLn2(float64(e)))
	}
	return base, r
}

// split returns m in [√½, √2) and e with v = m·2^e.
func split(v float64) (m float64, e int) {
	if v < 0x1p-1022 {
		m, e = split(v * 0x1p54)
		return m, e - 54
	}
	b := math.Float64bits(v)
	e = int(b>>52) - 1023
	m = math.Float64frombits(b&(1<<52-1) | 1023<<52)
	if m >= math.Sqrt2 {
		m, e = m/2, e+1
	}
	return m, e
}

// log1pFast returns log(1+r) for |r| <= 2^-9.4 with an error below 2^-69·|r|.
func log1pFast(r double) double {
	x := r.hi
	square := multiply(r, r)
	tail := -1.0 / 8
	tail = float64(tail*x) + 1.0/7
	tail = float64(tail*x) - 1.0/6
	tail = float64(tail*x) + 1.0/5
	tail = float64(tail*x) - 1.0/4
	tail = float64(tail*x) + 1.0/3
	head := quickSum(x, float64(-square.hi/2))
	return quickSum(head.hi, head.lo+(r.lo-float64(square.lo/2))+float64(float64(square.hi*x)*tail))
}

// log1pSeries returns log(1+r) for |r| <= 2^-9.4 with about 100 correct bits.
func log1pSeries(r double) double {
	var sum double
	for k := 12.0; k >= 1; k-- {
		term := divide(double{hi: 1}, k)
		if int(k)%2 == 0 {
			term = double{-term.hi, -term.lo}
		}
		sum = add(multiply(sum, r), term)
	}
	return multiply(sum, r)
}

// The table holds, for the multiples i/512 that m can be near, a number of 15
// bits near 512/i and minus its logarithm.
const (
	logSteps = 512
	logFirst = 361 // below 512·√½
	logLast  = 725 // above 512·√2
)

type logEntry struct {
	inverse float64
	log     double
}

var logTable = sync.OnceValue(func() *[logLast - logFirst + 1]logEntry {
	var out [logLast - logFirst + 1]logEntry
	for i := logFirst; i <= logLast; i++ {
		v := math.RoundToEven(0x1p14*logSteps/float64(i)) * 0x1p-14
		log := shortLog(v)
		out[i-logFirst] = logEntry{v, double{-log.hi, -log.lo}}
	}
	return &out
})

// shortLog returns log v by 2·artanh((v-1)/(v+1)), for v of few bits in
// [√½, √2].
func shortLog(v float64) double {
	z := divide(double{hi: v - 1}, v+1)
	square := multiply(z, z)
	var sum double
	for k := 47.0; k >= 1; k -= 2 {
		sum = add(multiply(sum, square), divide(double{hi: 1}, k))
	}
	out := multiply(sum, z)
	return double{2 * out.hi, 2 * out.lo}
}

// timesLn2 returns e·log 2 for an integer |e| < 2048. The first two parts
// of the constant have 11 zero bits at the end, so that their products are
// exact.
func timesLn2(e float64) double {
	s := quickSum(float64(e*ln2A), float64(e*ln2B))
	return quickSum(s.hi, s.lo+float64(e*ln2C))
}

const ln2A, ln2B, ln2C = 0x1.62e42fefa38p-1, 0x1.ef35793c76p-45, 0x1.cc01f97b57a08p-87

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
