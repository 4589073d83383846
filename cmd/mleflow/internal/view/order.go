package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/board"
)

// InOrder sorts items with addresses, such as steps, for people: blocks in the order of
// their first item, the instances of each by key, with numbers in keys compared by value.
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
