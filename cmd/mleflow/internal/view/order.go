package view

import (
	"slices"

	"github.com/mleflow/mleflow/competitions/board"
)

// InOrder sorts items with addresses, such as steps, for people: blocks in the order of
// their first item, the instances of each by key, with numbers in keys compared by value.
func InOrder[S any](list []S, address func(S) string) []S {
	blocks := grouped(list, func(it S) string { return BlockOf(address(it)) })
	for _, block := range blocks {
		slices.SortFunc(block, func(a, b S) int { return board.CompareNames(address(a), address(b)) })
	}
	return slices.Concat(blocks...)
}

// grouped returns the items with equal keys, in the order of the first of them.
func grouped[T any, K comparable](list []T, key func(T) K) (groups [][]T) {
	index := map[K]int{}
	for _, it := range list {
		k := key(it)
		at, known := index[k]
		if !known {
			at = len(groups)
			index[k], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], it)
	}
	return groups
}
