package table

import (
	"math"
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
	for _, c := range b[n:] {
		if c == '.' {
			return b
		}
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
