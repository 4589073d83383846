package ui

import (
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// diffLine is a line of a comparison: added (+), removed (-), the same ( ) or a
// mark of a place (@).
type diffLine struct{ Sign, Text string }

// diffLines compares two texts line by line, with three lines around each change.
func diffLines(a, b []string) (list []diffLine) {
	text := func(lines []string) []byte { return []byte(strings.Join(append(lines, ""), "\n")) }
	all := lines(diff.Diff("", text(a), "", text(b)))
	for _, l := range all[min(len(all), 3):] { // the first three name the files
		var from, lines, to int
		if n, _ := fmt.Sscanf(l, "@@ -%d,%d +%d", &from, &lines, &to); n == 3 {
			list = append(list, diffLine{"@", fmt.Sprintf(" line %d", max(1, to))})
			continue
		}
		list = append(list, diffLine{l[:1], l[1:]})
	}
	return list
}
