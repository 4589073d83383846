package libm

import (
	"math"
	"sort"
	"sync"
)

// table has the sines of the multiples of π/128 up to a right angle.
type table struct {
	step parts // π/128
	sine [65]double
}

var circle = sync.OnceValue(func() *table {
	t := &table{step: partsOf(bigStep())}
	for i := range t.sine {
		t.sine[i] = sineSeries(t.angle(i))
	}
	t.sine[64] = double{hi: 1}
	return t
})

// angle returns i·π/128.
func (t *table) angle(i int) double {
	r := reduce(0, float64(i), t.step)
	return double{-r.hi, -r.lo}
}

// sineSeries returns sin x for |x| <= 2 by its series.
func sineSeries(x double) double {
	square := multiply(x, x)
	sum := double{hi: 1}
	for k := 31.0; k >= 3; k -= 2 {
		term := divide(multiply(sum, square), float64(k*(k-1)))
		sum = add(double{hi: 1}, double{-term.hi, -term.lo})
	}
	return multiply(x, sum)
}

// Sincos returns the sine and the cosine of x radians; NaN, NaN for infinities
// and NaN.
func Sincos(x float64) (sin, cos float64) {
	if x-x != 0 {
		return math.NaN(), math.NaN()
	}
	if x == 0 {
		return x, 1
	}
	n, r := reduceAngle(x)
	t := circle()
	a, b := t.sine[n&63], t.sine[64-n&63]
	sr, cr := smallSine(r), smallCosine(r)
	p, q := multiply(b, sr), multiply(a, sr)
	s, c := add(multiply(a, cr), p), add(multiply(b, cr), double{-q.hi, -q.lo})
	switch n >> 6 {
	case 1:
		return c.hi, -s.hi
	case 2:
		return -s.hi, -c.hi
	case 3:
		return -c.hi, s.hi
	}
	return s.hi, c.hi
}

// Sin returns the sine of x radians.
func Sin(x float64) float64 {
	sin, _ := Sincos(x)
	return sin
}

// Cos returns the cosine of x radians.
func Cos(x float64) float64 {
	_, cos := Sincos(x)
	return cos
}

// smallSine returns sin r for |r| <= 2^-6.
func smallSine(r double) double {
	x := r.hi
	square := float64(x * x)
	tail := 1.0 / 362880
	tail = float64(tail*square) - 1.0/5040
	tail = float64(tail*square) + 1.0/120
	tail = float64(tail*square) - 1.0/6
	return quickSum(x, r.lo+float64(float64(x*square)*tail))
}

// smallCosine returns cos r for |r| <= 2^-6.
func smallCosine(r double) double {
	square := multiply(r, r)
	x := square.hi
	tail := 1.0 / 40320
	tail = float64(tail*x) - 1.0/720
	tail = float64(tail*x) + 1.0/24
	one := quickSum(1, float64(-x/2))
	return quickSum(one.hi, one.lo+(float64(float64(x*x)*tail)-float64(square.lo/2)))
}

// Asin returns the arcsine of x in radians, NaN outside [-1, 1].
func Asin(x float64) float64 {
	v := math.Abs(x)
	switch {
	case !(v <= 1):
		return math.NaN()
	case x == 0:
		return x
	case v > 0.7:
		half := halfAngle(v)
		return math.Copysign(add(circle().angle(64), double{-2 * half.hi, -2 * half.lo}).hi, x)
	}
	return math.Copysign(arcsine(double{hi: v}).hi, x)
}

// Acos returns the arccosine of x in radians, NaN outside [-1, 1].
func Acos(x float64) float64 {
	switch {
	case !(math.Abs(x) <= 1):
		return math.NaN()
	case x == 1:
		return 0
	case x > 0.5:
		return 2 * halfAngle(x).hi
	case x < -0.5:
		half := halfAngle(-x)
		return add(circle().angle(128), double{-2 * half.hi, -2 * half.lo}).hi
	}
	a := arcsine(double{hi: math.Abs(x)})
	if x > 0 {
		a = double{-a.hi, -a.lo}
	}
	return add(circle().angle(64), a).hi
}

// halfAngle returns half the arccosine of x, for x in [0.5, 1].
func halfAngle(x float64) double { return arcsine(squareRoot(double{hi: float64((1 - x) / 2)})) }

// arcsine returns the arcsine of v in [0, 0.71].
func arcsine(v double) double {
	t := circle()
	n := sort.Search(64, func(i int) bool { return t.sine[i].hi >= v.hi })
	if n > 0 && v.hi-t.sine[n-1].hi < t.sine[n].hi-v.hi {
		n--
	}
	// The sine of what is left of the angle.
	rest := v
	if n > 0 {
		square := multiply(v, v)
		cosine := squareRoot(add(double{hi: 1}, double{-square.hi, -square.lo}))
		over := multiply(cosine, t.sine[n])
		rest = add(multiply(v, t.sine[64-n]), double{-over.hi, -over.lo})
	}
	x := rest.hi
	square := float64(x * x)
	tail := 63.0 / 2816
	tail = float64(tail*square) + 35.0/1152
	tail = float64(tail*square) + 5.0/112
	tail = float64(tail*square) + 3.0/40
	tail = float64(tail*square) + 1.0/6
	return add(t.angle(n), quickSum(x, rest.lo+float64(float64(x*square)*tail)))
}

// squareRoot returns the square root of v >= 0.
func squareRoot(v double) double {
	if v.hi == 0 {
		return double{}
	}
	q := math.Sqrt(v.hi)
	return quickSum(q, (math.FMA(-q, q, v.hi)+v.lo)/(2*q))
}
