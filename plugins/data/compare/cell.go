package compare

import (
	"math"
	"strconv"
	"strings"
)

// missingCells are the strings that pandas.read_csv reads as missing (2.2, na_values).
var missingCells = map[string]bool{
	"": true, "#N/A": true, "#N/A N/A": true, "#NA": true, "-1.#IND": true, "-1.#QNAN": true, "-NaN": true, "-nan": true,
	"1.#IND": true, "1.#QNAN": true, "<NA>": true, "N/A": true, "NA": true, "NULL": true, "NaN": true, "None": true,
	"n/a": true, "nan": true, "null": true,
}

// isMissing reports whether a cell stands for a missing value.
func isMissing(cell string) bool { return len(cell) <= len("#N/A N/A") && missingCells[cell] }

// appendCanonical appends the spelling that all equal cells share.
func appendCanonical(dst []byte, cell string) []byte {
	v, ok := number(cell)
	switch {
	case !ok:
		return append(dst, cell...)
	case v == 0:
		return append(dst, '0') // -0 too
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// number reads a cell as a double. A string that only looks like a number, such
// as 007, and an integer that a double may not hold are none.
func number(cell string) (float64, bool) {
	digits := strings.TrimPrefix(cell, "-")
	switch digits {
	case "inf", "Inf", "Infinity", "infinity":
		return math.Inf(1 - 2*(len(cell)-len(digits))), true
	}
	if len(digits) == 0 || len(digits) > 64 || digits[0] > '9' {
		return 0, false
	}
	whole := len(digits) - len(strings.TrimLeft(digits, "0123456789"))
	if whole > 1 && digits[0] == '0' || whole == len(digits) && whole > 15 || strings.Trim(digits[whole:], "0123456789.eE+-") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(cell, 64)
	return v, err == nil
}
