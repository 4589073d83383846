package table

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
)

// FormatFloat returns Python's repr of v: the shortest digits that read back
// as v, with ".0" where the value is whole, an exponent of at least two digits
// below 1e-4 and from 1e16 on, and nan, inf, -inf.
func FormatFloat(v float64) string { return string(AppendFloat(nil, v)) }

// AppendFloat appends FormatFloat(v) to b.
func AppendFloat(b []byte, v float64) []byte {
	abs := math.Abs(v)
	switch {
	case abs != abs:
		return append(b, "nan"...)
	case abs > math.MaxFloat64:
		if v < 0 {
			b = append(b, '-')
		}
		return append(b, "inf"...)
	case abs != 0 && (abs < 1e-4 || abs >= 1e16):
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	if short, ok := appendShort(b, v, abs); ok {
		return short
	}
	n := len(b)
	b = strconv.AppendFloat(b, v, 'f', -1, 64)
	if slices.Contains(b[n:], '.') {
		return b
	}
	return append(b, ".0"...)
}

// appendShort appends v if it is a number of at most 15 digits of which six
// are decimals. No two such numbers give the same double, so the one that reads
// back as v is the shortest.
func appendShort(b []byte, v, abs float64) ([]byte, bool) {
	const scale, limit = 1000000, 1000000000
	if !(abs < limit) {
		return b, false
	}
	scaled := uint64(float64(abs*scale) + 0.5)
	if float64(scaled)/scale != abs {
		return b, false
	}
	if math.Signbit(v) {
		b = append(b, '-')
	}
	b = strconv.AppendUint(b, scaled/scale, 10)
	fraction := uint32(scaled % scale)
	if fraction == 0 {
		return append(b, '.', '0'), true
	}
	var digits [7]byte
	digits[0] = '.'
	for i := 6; i > 0; i-- {
		digits[i] = byte('0' + fraction%10)
		fraction /= 10
	}
	n := 7
	for digits[n-1] == '0' {
		n--
	}
	return append(b, digits[:n]...), true
}

// canonical reports whether b is a decimal with a point that AppendFloat would
// write in the same way. It does not know it of all that are.
func canonical(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	m, places, ok := plainDigits(b)
	switch {
	case !ok || places <= 0 || !usual(b):
		return false
	case m < 1e15: // no two numbers of 15 digits read as the same double
		return m == 0 || m*1e4 >= tens[places] // smaller ones have exponents
	case m < 1<<53:
		return shortest(m, places, float64(m)/pow10[places])
	}
	f, ok := scaleDown(m, places)
	return ok && shortest(m, places, f)
}

// usual reports whether a number of digits and a point, which is not the last
// byte, has a digit before the point and no needless zeros.
func usual(b []byte) bool {
	n := len(b)
	return b[0] != '.' && (b[0] != '0' || b[1] == '.') && (b[n-1] != '0' || b[n-2] == '.')
}

// shortest reports whether m / 10^decimals, whose last digit is not in vain,
// is the shortest decimal that reads as f, the double nearest to it, and among
// the decimals of its length the nearest to f.
//
// Let f be M / 2^s, and everything be measured in units of 10^-decimals / 2^s.
// The decimal lies d = m 2^s - M 10^decimals above f; decimals that read as f
// lie within h = 10^decimals / 2 of it. A shorter decimal is a multiple of ten
// in the last place, and the next ones below and above m are r and 10-r
// places, 2^s units each, away.
func shortest(m uint64, decimals int, f float64) bool {
	bits := math.Float64bits(f)
	s := 1075 - int(bits>>52)
	fraction := bits & (1<<52 - 1)
	if s < 1 || s > 58 || fraction == 0 { // below a power of two doubles are closer
		return false
	}
	power := tens[decimals]
	d := int64(m<<s - (fraction|1<<52)*power) // no larger than h, so its low bits are enough
	h, place, r := int64(power/2), int64(1)<<s, int64(m%10)
	return r != 0 && d < place/2 && -d < place/2 && d-r*place < -h && d+(10-r)*place > h
}

// tens are the powers of ten that fit 64 bits.
var tens = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

var pow10 = func() (p [309]float64) {
	for i := range p {
		p[i], _ = strconv.ParseFloat("1e"+strconv.Itoa(i), 64) // math.Pow10 is not exact
	}
	return p
}()

// parseFast reads a double as pandas' default parser (precise_xstrtod of
// pandas 2) does, bit for bit: it adds up 17 digits in a double, rounding at
// each, and scales by powers of ten.
func parseFast(b []byte) (f float64, whole bool, ok bool) {
	if f, whole, ok = scanFast(b); ok {
		return f, whole, true
	}
	f, ok = infinity(b)
	return f, false, ok
}

func scanFast(b []byte) (f float64, whole bool, ok bool) {
	b = trimLeft(b)
	neg := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		b = b[1:]
	}
	number, exp, i, whole := fastMantissa(b)
	if i < 0 {
		return 0, false, false
	}
	if neg {
		number = -number
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		var e int32
		if e, i = fastExponent(b, i+1); i < 0 {
			return 0, false, false
		}
		exp += e
		whole = false
	}
	if len(trimLeft(b[i:])) > 0 || exp > 308 {
		return 0, false, false
	}
	number = fastScale(number, exp)
	return number, whole, !math.IsInf(number, 0)
}

const fastDigits = 17

// fastMantissa returns the digits' sum, their exponent and their end, -1 if
// there are none.
func fastMantissa(b []byte) (number float64, exp int32, i int, whole bool) {
	count := 0
	for ; i < len(b) && isDigit(b[i]); i++ {
		if count < fastDigits {
			number = float64(number*10) + float64(b[i]-'0')
			count++
		} else {
			exp++
		}
	}
	whole = true
	if i < len(b) && b[i] == '.' {
		whole = false
		for i++; i < len(b) && isDigit(b[i]); i++ {
			if count < fastDigits {
				number = float64(number*10) + float64(b[i]-'0')
				count++
				exp--
			}
		}
	}
	if count == 0 {
		return 0, 0, -1, false
	}
	return number, exp, i, whole
}

// fastExponent reads at most 17 digits into 32 bits, which wrap.
func fastExponent(b []byte, i int) (e int32, end int) {
	neg := false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		neg = b[i] == '-'
		i++
	}
	start := i
	for ; i < len(b) && i-start < fastDigits && isDigit(b[i]); i++ {
		e = e*10 + int32(b[i]-'0')
	}
	if i == start {
		return 0, -1
	}
	if neg {
		e = -e
	}
	return e, i
}

func fastScale(number float64, exp int32) float64 {
	switch {
	case exp > 0:
		return number * pow10[exp]
	case exp < -616:
		return 0
	case exp < -308:
		number /= pow10[-308-exp]
		return number / pow10[308]
	}
	return number / pow10[-exp]
}

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
