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
	type placed struct {
		block int
		name  string
		it    S
	}
	blocks, all := map[string]int{}, make([]placed, len(list))
	for i, it := range list {
		name := address(it)
		block, _, _ := strings.Cut(name, "[")
		if _, known := blocks[block]; !known {
			blocks[block] = len(blocks)
		}
		all[i] = placed{blocks[block], name, it}
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.block, b.block), board.CompareNames(a.name, b.name))
	})
	out := make([]S, len(list))
	for i := range all {
		out[i] = all[i].it
	}
	return out
}
