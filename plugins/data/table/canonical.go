package table

import "math"

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
