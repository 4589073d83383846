package agentrun

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// units are the units of sizes, by their names in lower case.
var units = map[string]float64{
	"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// parseSize reads a size such as "4GiB"; no text is 0.
func parseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	digits := strings.TrimRight(text, "BKMGTibkmgt ")
	n, err := strconv.ParseFloat(digits, 64)
	unit, ok := units[strings.ToLower(strings.TrimSpace(text[len(digits):]))]
	if err != nil || !ok || !(n > 0) || n*unit > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not a size, such as \"4GiB\"", text)
	}
	return int64(n * unit), nil
}

// parseDuration reads a time such as "10m"; no text is 0.
func parseDuration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time, such as \"90s\", \"10m\" or \"1h30m\"", text)
	}
	return d, nil
}
