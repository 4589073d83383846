package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/board"
)

// InOrder is what has addresses, such as steps, as people read it: blocks in the order
// of their first, the instances of each with the numbers in their keys by value.
func InOrder[S any](list []S, address func(S) string) []S {
	block := func(it S) string {
		name, _, _ := strings.Cut(address(it), "[")
		return name
	}
	first := map[string]int{}
	for i, it := range list {
		if _, known := first[block(it)]; !known {
			first[block(it)] = i
		}
	}
	return slices.SortedFunc(slices.Values(list), func(a, b S) int {
		return cmp.Or(cmp.Compare(first[block(a)], first[block(b)]), board.CompareNames(address(a), address(b)))
	})
}
