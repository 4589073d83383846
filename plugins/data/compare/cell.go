package compare

import (
	"bytes"
	"math"
	"strconv"
)

// missingTexts are what pandas.read_csv takes for a missing value (2.2,
// na_values), besides the empty text.
var missingTexts = map[string]bool{
	"": true, "#N/A": true, "#N/A N/A": true, "#NA": true, "-1.#IND": true, "-1.#QNAN": true, "-NaN": true, "-nan": true,
	"1.#IND": true, "1.#QNAN": true, "<NA>": true, "N/A": true, "NA": true, "NULL": true, "NaN": true, "None": true,
	"n/a": true, "nan": true, "null": true,
}

const longestMissing = 8

// isMissing reports whether a cell's text stands for a missing value.
func isMissing(text []byte) bool {
	return len(text) <= longestMissing && missingTexts[string(text)]
}

// canonical appends the text that all spellings of a cell's value share.
func canonical(dst, text []byte) []byte {
	if isMissing(text) {
		return dst
	}
	if v, ok := number(text); ok {
		return appendNumber(dst, v)
	}
	return append(dst, text...)
}

// appendNumber writes a double so that equal ones have one spelling.
func appendNumber(dst []byte, v float64) []byte {
	if v == 0 {
		return append(dst, '0') // -0 too
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// number reads a cell as a double. A text that only looks like a number, such
// as 007, and an integer that a double does not hold are none.
func number(text []byte) (float64, bool) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) == 0 || len(digits) > 64 {
		return 0, false
	}
	switch string(digits) {
	case "inf", "Inf", "Infinity", "infinity":
		return math.Inf(1 - 2*(len(text)-len(digits))), true
	}
	whole := leadingDigits(digits)
	if whole > 1 && digits[0] == '0' || whole == len(digits) && whole > 15 {
		return 0, false
	}
	if !isDecimal(digits, whole) {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(text), 64)
	return v, err == nil
}

func leadingDigits(text []byte) int {
	for i, c := range text {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(text)
}

// isDecimal reports whether text is digits with an optional fraction and
// exponent; whole is the number of digits before the point.
func isDecimal(text []byte, whole int) bool {
	rest, fraction := text[whole:], 0
	if len(rest) > 0 && rest[0] == '.' {
		fraction = leadingDigits(rest[1:])
		rest = rest[1+fraction:]
	}
	if whole+fraction == 0 {
		return false
	}
	if len(rest) == 0 {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return len(rest) > 0 && leadingDigits(rest) == len(rest)
}
