package table

import (
	"math"
	"math/big"
	"math/bits"
)

// inverse10 holds 10^-k for k from 0 to 19 as 128-bit numbers with the top bit
// set, rounded down, high word first.
var inverse10 = func() (t [20][2]uint64) {
	for k := range t {
		p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(k)), nil)
		q := new(big.Int).Lsh(big.NewInt(1), uint(127+p.BitLen()))
		q.Quo(q, p)
		q.Rsh(q, uint(q.BitLen()-128))
		t[k][0] = new(big.Int).Rsh(q, 64).Uint64()
		t[k][1] = q.Uint64()
	}
	return t
}()

// scaleDown returns the double nearest to mantissa / 10^k by the method of
// Eisel and Lemire (D. Lemire, "Number parsing at a gigabyte per second",
// 2021): it multiplies by the 64, if need be 128 leading bits of the power
// and gives up where they do not settle the rounding. The results are far
// from the ends of the doubles' range.
func scaleDown(mantissa uint64, k int) (float64, bool) {
	shift := bits.LeadingZeros64(mantissa)
	m := mantissa << shift
	exp := (217706*-k)>>16 + 64 + 1023 - shift
	hi, lo := bits.Mul64(m, inverse10[k][0])
	if hi&0x1ff == 0x1ff && lo+m < m {
		hi2, lo2 := bits.Mul64(m, inverse10[k][1])
		sum, carry := bits.Add64(lo, hi2, 0)
		hi += carry
		if hi&0x1ff == 0x1ff && sum == math.MaxUint64 && lo2+m < m {
			return 0, false
		}
		lo = sum
	}
	top := int(hi >> 63)
	rounded := hi >> (top + 9)
	exp -= 1 ^ top
	if lo == 0 && hi&0x1ff == 0 && rounded&3 == 1 {
		return 0, false
	}
	rounded = (rounded + rounded&1) >> 1
	if rounded>>53 > 0 {
		rounded >>= 1
		exp++
	}
	return math.Float64frombits(uint64(exp)<<52 | rounded&(1<<52-1)), true
}
