package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits are the units a size may have, longest suffix first.
var sizeUnits = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// parseSize reads a size such as 500GiB, 1.5TB or 1024.
func parseSize(text string) (int64, error) {
	number, unit := strings.TrimSpace(text), 1.0
	for _, u := range sizeUnits {
		if head, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(head), u.bytes
			break
		}
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(value) || value < 0 || value*unit > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not a size; write one such as 500GiB or 2TB", text)
	}
	return int64(value * unit), nil
}
