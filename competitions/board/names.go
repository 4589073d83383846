package board

import (
	"cmp"
	"strconv"
	"strings"
)

// CompareNames orders names as people do, with the numbers in them by value: k1,
// k3, k27; lr=0.01, lr=0.1. A number comes before text.
func CompareNames(a, b string) int {
	same := 0 // the two begin alike; what follows may be within a number
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	for same > 0 && strings.IndexByte("0123456789.eE+-", a[same-1]) >= 0 {
		same--
	}
	i, j := same, same
	for i < len(a) && j < len(b) {
		n, m := number(a, i), number(b, j)
		c := cmp.Compare(min(m, 1), min(n, 1))
		switch {
		case n > 0 && m > 0:
			x, _ := strconv.ParseFloat(a[i:i+n], 64) // infinite if out of range
			y, _ := strconv.ParseFloat(b[j:j+m], 64)
			c = cmp.Compare(x, y)
		case c == 0:
			c = cmp.Compare(a[i], b[j])
		}
		if c != 0 {
			return c
		}
		i, j = i+max(n, 1), j+max(m, 1)
	}
	return cmp.Or(cmp.Compare(min(len(a)-i, 1), min(len(b)-j, 1)), strings.Compare(a, b))
}

// number is the length of the number that begins at a place in a name, such as 27, 0.1
// or 1e-5; 0 if there is none. A minus counts only where a value begins.
func number(name string, at int) int {
	end := at
	digits := func() bool {
		from := end
		for end < len(name) && name[end] >= '0' && name[end] <= '9' {
			end++
		}
		return end > from
	}
	if name[at] == '-' && (at == 0 || strings.IndexByte("=,[", name[at-1]) >= 0) {
		end++
	}
	if !digits() {
		return 0
	}
	for _, part := range []string{".", "eE"} {
		whole := end
		if end < len(name) && strings.IndexByte(part, name[end]) >= 0 {
			if end++; part == "eE" && end < len(name) && strings.IndexByte("+-", name[end]) >= 0 {
				end++
			}
			if !digits() {
				end = whole
			}
		}
	}
	return end - at
}
