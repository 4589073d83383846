package pyjson

import (
	"errors"
	"math"
	"strconv"

	"github.com/mleflow/mleflow/plugins/table"
)

// pandasFloat reads a number with a point or exponent as pandas' ujson does.
func pandasFloat(b []byte) float64 {
	sign := 1.0
	if b[0] == '-' {
		sign = -1
		b = b[1:]
	}
	whole, i := uint64(0), 0
	for ; i < len(b) && b[i]-'0' < 10; i++ {
		whole = whole*10 + uint64(b[i]-'0')
	}
	fraction, count := 0.0, 0
	if i < len(b) && b[i] == '.' {
		for i++; i < len(b) && b[i]-'0' < 10; i++ {
			if count < len(tenths)-1 {
				fraction = float64(fraction*10) + float64(b[i]-'0')
				count++
			}
		}
	}
	f := (float64(whole) + float64(fraction*tenths[count])) * sign
	if i < len(b) {
		f *= power(b[i+1:])
	}
	return f
}

// pandasInteger reads an integer beyond int64. Larger ones than a uint64 holds
// are refused unless they happen to wrap to a larger number at every digit.
func pandasInteger(text []byte) (Value, error) {
	n := uint64(0)
	for _, c := range text {
		next := n*10 + uint64(c-'0')
		if c == '-' || next < n {
			return Value{}, errors.New("an integer of more than 64 bits")
		}
		n = next
	}
	if n>>63 == 0 {
		return OfInt(int64(n)), nil
	}
	return OfUint(n), nil
}

var tenths = [...]float64{1, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15}

// power returns ten to the power written in b.
func power(b []byte) float64 {
	f, _ := strconv.ParseFloat("1e"+string(b), 64)
	return f
}

// ujson's limits: outside them floats are written with an exponent.
const (
	ujsonMax = 1e16 - 1
	ujsonMin = 1e-15
)

// appendPandasFloat writes a float as to_json does with ten decimals: the
// integer part and the fraction times 1e10, taken apart by double arithmetic,
// trailing zeros cut. Infinities and NaN are null.
func appendPandasFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	abs := math.Abs(f)
	if abs > ujsonMax || abs != 0 && abs < ujsonMin {
		return table.AppendFormat(b, f, 'g', 10)
	}
	const decimals, scale = 10, 1e10
	whole := uint64(abs)
	scaled := float64((abs - float64(whole)) * scale)
	fraction := uint64(scaled)
	if rest := scaled - float64(fraction); rest > 0.5 || rest == 0.5 && (fraction == 0 || fraction&1 == 1) {
		fraction++
	}
	if fraction >= scale {
		fraction = 0
		whole++
	}
	if f < 0 {
		b = append(b, '-')
	}
	b = append(strconv.AppendUint(b, whole, 10), '.')
	if fraction == 0 {
		return append(b, '0')
	}
	digits := strconv.AppendUint(nil, fraction+scale, 10)[1:]
	for digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return append(b, digits...)
}
