package step

import (
	"fmt"
	"math"

	"github.com/dustin/go-humanize"
)

// ParseSize parses a size in an argument of a kind, such as "4GiB". The empty
// string is 0.
func ParseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not a size above 0, such as \"4GiB\"", text)
	}
	return n, nil
}

// ParseBytes reads a number of bytes with a decimal or binary unit, in either
// case, or with none: "500MB", "1.5TiB", "1024".
func ParseBytes(s string) (int64, error) {
	n, err := humanize.ParseBytes(s)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size; write a size such as 500GiB or 2TB", s)
	}
	return int64(n), nil
}
