package table

import (
	"math"
	"strconv"
)

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
