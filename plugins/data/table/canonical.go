package table

import "math"

// canonical reports whether b, which was read as d, is what AppendFloat makes of
// it. Where it would take long to tell it compares the two.
func (d *double) canonical(b []byte) bool {
	if d.places > 0 && usual(b) {
		switch {
		case d.mantissa < 1e15: // no two numbers of 15 digits read as the same double
			if math.Abs(d.f) >= 1e-4 || d.mantissa == 0 {
				return true
			}
		case shortest(d.mantissa, d.places, math.Abs(d.f)):
			return true
		}
	}
	var buf [32]byte
	return string(AppendFloat(buf[:0], d.f)) == string(b)
}

// usual reports whether a number of digits and a point, which is not the last
// byte, has a digit before the point and no needless zeros.
func usual(b []byte) bool {
	if b[0] == '-' {
		b = b[1:]
	}
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
