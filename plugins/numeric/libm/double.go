package libm

import (
	"math"
	"math/big"
	"sync"
)

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

// parts is a constant as the sum of three float64, from large to small.
type parts [3]float64

// reduce returns x minus n times a constant, for an x near it and an integer
// |n| < 2^53.
func reduce(x, n float64, c parts) double {
	product := float64(n * c[0])
	r := twoSum(x-product, -math.FMA(n, c[0], -product)) // x-product is exact
	product = float64(n * c[1])
	r = add(r, double{-product, -math.FMA(n, c[1], -product)})
	return quickSum(r.hi, r.lo-float64(n*c[2]))
}

// partsOf splits a number of many bits.
func partsOf(v *big.Float) (out parts) {
	rest := new(big.Float).Copy(v)
	for i := range out {
		out[i], _ = rest.Float64()
		rest.Sub(rest, new(big.Float).SetFloat64(out[i]))
	}
	return out
}

// piBits is enough for the remainder of the largest float64.
const piBits = 1400

// bigStep is π/128 with piBits bits.
var bigStep = sync.OnceValue(func() *big.Float {
	// Machin: π/4 = 4·arctan 1/5 - arctan 1/239, in integers scaled by 2^scale.
	const scale = piBits + 32
	arctan := func(inverse int64) *big.Int {
		sum, square := new(big.Int), big.NewInt(inverse*inverse)
		power := new(big.Int).Quo(new(big.Int).Lsh(big.NewInt(1), scale), big.NewInt(inverse))
		for k := int64(1); power.Sign() > 0; k += 2 {
			term := new(big.Int).Quo(power, big.NewInt(k))
			if k%4 == 3 {
				term.Neg(term)
			}
			sum.Add(sum, term)
			power.Quo(power, square)
		}
		return sum
	}
	quarter := arctan(5)
	quarter.Sub(quarter.Lsh(quarter, 2), arctan(239))
	out := new(big.Float).SetPrec(piBits).SetInt(quarter)
	return out.SetMantExp(out, -scale-5)
})

// reduceAngle returns n modulo 256 and r with x = n·π/128 + r for a finite x.
func reduceAngle(x float64) (n int, r double) {
	t := circle()
	if math.Abs(x) < 0x1p22 {
		near := math.RoundToEven(float64(x * (128 / math.Pi)))
		return int(near) & 255, reduce(x, near, t.step)
	}
	v := new(big.Float).SetPrec(piBits).SetFloat64(x)
	q := new(big.Float).SetPrec(piBits).Quo(v, bigStep())
	near, _ := q.Add(q, big.NewFloat(math.Copysign(0.5, x))).Int(nil)
	v.Sub(v, q.Mul(q.SetInt(near), bigStep()))
	rest := partsOf(v)
	return int(near.And(near, big.NewInt(255)).Int64()), quickSum(rest[0], rest[1])
}
