package table

import (
	"slices"
	"strconv"
)

// headerNames turns the fields of a header line into column names as pandas
// does: empty ones become "Unnamed: i", repeated ones get ".1", ".2", ….
func headerNames(fields []string) []string {
	names := slices.Clone(fields)
	order := make([]int, 0, len(names))
	var unnamed []int
	for i, name := range names {
		if name == "" {
			names[i] = "Unnamed: " + strconv.Itoa(i)
			unnamed = append(unnamed, i)
		} else {
			order = append(order, i)
		}
	}
	taken := map[string]bool{}
	for _, name := range names {
		taken[name] = true
	}
	counts := map[string]int{}
	for _, i := range append(order, unnamed...) {
		dedupe(names, i, counts, taken)
	}
	return names
}

// dedupe renames column i if its name was seen before.
func dedupe(names []string, i int, counts map[string]int, taken map[string]bool) {
	name := names[i]
	n := counts[name]
	for n > 0 {
		counts[names[i]] = n + 1
		name = names[i] + "." + strconv.Itoa(n)
		if taken[name] {
			n++
		} else {
			n = counts[name]
		}
	}
	names[i] = name
	taken[name] = true
	counts[name] = n + 1
}

// numberNames returns "0", "1", …, the names of columns without a header.
func numberNames(n int) []string {
	return Collect(n, strconv.Itoa)
}
