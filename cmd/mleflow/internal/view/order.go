package view

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/board"
)

// InOrder sorts items with addresses, such as steps, for people: blocks in the order of
// their first item, the instances of each by key, with numbers in keys compared by value.
func InOrder[S any](list []S, address func(S) string) []S {
	first, blocks := map[string]int{}, [][]S{}
	for _, it := range list {
		name, _, _ := strings.Cut(address(it), "[")
		at, known := first[name]
		if !known {
			at = len(blocks)
			first[name], blocks = at, append(blocks, nil)
		}
		blocks[at] = append(blocks[at], it)
	}
	for _, block := range blocks {
		slices.SortFunc(block, func(a, b S) int { return board.CompareNames(address(a), address(b)) })
	}
	return slices.Concat(blocks...)
}
