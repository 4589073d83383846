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
	n := len(b)
	b = strconv.AppendFloat(b, v, 'f', -1, 64)
	for _, c := range b[n:] {
		if c == '.' {
			return b
		}
	}
	return append(b, ".0"...)
}
