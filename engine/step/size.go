package step

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits maps the names of units, in lower case, to their sizes in bytes.
var sizeUnits = map[string]float64{
	"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// ParseSize parses a size in an argument of a kind, such as "4GiB". The empty
// string is 0.
func ParseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	digits := strings.TrimRight(text, "BKMGTibkmgt ")
	n, err := strconv.ParseFloat(digits, 64)
	unit, ok := sizeUnits[strings.ToLower(strings.TrimSpace(text[len(digits):]))]
	if err != nil || !ok || !(n > 0) || n*unit > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not a size above 0, such as \"4GiB\"", text)
	}
	return int64(n * unit), nil
}
