package libm

import "math"

// double is the unevaluated sum hi+lo of two float64 with |lo| <= ulp(hi)/2:
// a number of about 106 bits. Algorithms: Dekker 1971, Knuth TAOCP 4.2.2,
// Joldes, Muller and Popescu 2017.
type double struct{ hi, lo float64 }

// twoSum returns a+b exactly.
func twoSum(a, b float64) double {
	s := a + b
	t := s - a
	return double{s, (a - float64(s-t)) + (b - t)}
}

// quickSum returns a+b exactly for |a| >= |b|.
func quickSum(a, b float64) double {
	s := a + b
	return double{s, b - float64(s-a)}
}

func add(x, y double) double {
	s, t := twoSum(x.hi, y.hi), twoSum(x.lo, y.lo)
	s = quickSum(s.hi, s.lo+t.hi)
	return quickSum(s.hi, s.lo+t.lo)
}

func multiply(x, y double) double {
	p := float64(x.hi * y.hi)
	e := math.FMA(x.hi, y.hi, -p)
	return quickSum(p, e+(float64(x.hi*y.lo)+float64(x.lo*y.hi)))
}

func divide(x double, by float64) double {
	q := x.hi / by
	rest := math.FMA(-q, by, x.hi) + x.lo
	return quickSum(q, rest/by)
}
