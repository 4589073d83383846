package plain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Shorten shortens the cells that are longer than width, so that different cells stay
// different. What the long cells have in common goes first, then the middle of what is left;
// cells that would still look alike are numbered: "name…~2". One character is left of a
// cell in any case, and a width below four may leave cells alike.
func Shorten(column []string, width int) []string {
	width = max(width, 1)
	var long []string
	taken, short := map[string]bool{}, map[string]string{}
	for _, cell := range column {
		if text := strings.TrimRight(cell, " "); utf8.RuneCountInString(text) <= width {
			taken[text] = true
		} else if !slices.Contains(long, text) {
			long = append(long, text)
		}
	}
	whole, parts := distinguish(long, ",/ "), distinguish(long, ",/ -_=:")
	for i, text := range long {
		kept := whole[i]
		if utf8.RuneCountInString(kept) > width {
			kept = parts[i]
		}
		one := cut(kept, width)
		for n := 2; taken[one] && width > 3; n++ {
			mark := fmt.Sprintf("~%d", n)
			one = cut(kept, max(width-len(mark), 1)) + mark
		}
		taken[one], short[text] = true, one
	}
	out := make([]string, len(column))
	for i, cell := range column {
		text := strings.TrimRight(cell, " ")
		if s, ok := short[text]; ok {
			text = s
		}
		out[i] = text + strings.Repeat(" ", max(0, min(width, utf8.RuneCountInString(cell))-utf8.RuneCountInString(text)))
	}
	return out
}

// cut removes the middle of a text that is longer than width.
func cut(s string, width int) string {
	text := []rune(s)
	if len(text) <= width {
		return s
	}
	head := width / 2
	return string(text[:head]) + "…" + string(text[len(text)-(width-head-1):])
}

// distinguish replaces by "…" the parts that all names have in common: parts at the same
// place where the names have as many, else those at the beginning and the end. A part ends
// with one of the characters of ends.
func distinguish(names []string, ends string) []string {
	if len(names) < 2 {
		return names
	}
	parts, fewest, equal := make([][]string, len(names)), 0, true
	for i, name := range names {
		for name != "" {
			n := strings.IndexAny(name, ends) + 1
			n = cmp.Or(n, len(name))
			parts[i], name = append(parts[i], name[:n]), name[n:]
		}
		if equal = equal && len(parts[i]) == len(parts[0]); i == 0 || len(parts[i]) < fewest {
			fewest = len(parts[i])
		}
	}
	// same reports whether all have one part at a place from the beginning or the end.
	same := func(at int, fromEnd bool) bool {
		return !slices.ContainsFunc(parts, func(p []string) bool {
			if fromEnd {
				return p[len(p)-1-at] != parts[0][len(parts[0])-1-at]
			}
			return p[at] != parts[0][at]
		})
	}
	first, last := 0, 0
	for first < fewest && same(first, false) {
		first++
	}
	for last < fewest-first-1 && same(last, true) { // something is left of each
		last++
	}
	out := make([]string, len(names))
	for i, p := range parts {
		var text strings.Builder
		for at, part := range p {
			switch common := at < first || at >= len(p)-last || equal && same(at, false); {
			case !common:
				text.WriteString(part)
			case !strings.HasSuffix(text.String(), "…"):
				text.WriteString("…")
			}
		}
		out[i] = text.String()
	}
	return out
}
