package split

import (
	"cmp"
	"slices"
)

// Sorted numbers labels by their ascending order, as numpy.unique does:
// equal labels get equal codes, 0 for the smallest. Text is ordered by bytes,
// which for UTF-8 is numpy's order; NaNs are equal to each other and come
// first, so refuse them before.
func Sorted[T cmp.Ordered](labels []T) []int32 {
	codes, distinct := number(labels)
	order := count[int32](len(distinct))
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(distinct[a], distinct[b]) })
	rank := make([]int32, len(order))
	for i := 1; i < len(order); i++ {
		rank[order[i]] = rank[order[i-1]]
		if cmp.Compare(distinct[order[i-1]], distinct[order[i]]) != 0 { // else two NaNs
			rank[order[i]]++
		}
	}
	for i, c := range codes {
		codes[i] = rank[c]
	}
	return codes
}

// Appearance numbers labels in the order in which they first occur, as
// pandas.unique and the keys of a Python dict do. Refuse NaNs before: each gets
// a code of its own.
func Appearance[T comparable](labels []T) []int32 {
	codes, _ := number(labels)
	return codes
}

// number gives each label the position of its equal in distinct, where labels
// stand in order of appearance. NaNs equal nothing, not even themselves.
func number[T comparable](labels []T) (codes []int32, distinct []T) {
	seen := make(map[T]int32)
	codes = make([]int32, len(labels))
	for i, v := range labels {
		code, ok := seen[v]
		if !ok {
			code = int32(len(distinct))
			seen[v] = code
			distinct = append(distinct, v)
		}
		codes[i] = code
	}
	return codes, distinct
}

// RowsOf lists the rows of the picked codes, code by code in the order given
// and each code's rows in row order. A code without rows adds nothing.
func RowsOf(codes []int32, picked []int) []int {
	byCode := make(map[int][]int, len(picked))
	for _, c := range picked {
		byCode[c] = nil
	}
	for i, c := range codes {
		if rows, ok := byCode[int(c)]; ok {
			byCode[int(c)] = append(rows, i)
		}
	}
	var rows []int
	for _, c := range picked {
		rows = append(rows, byCode[c]...)
	}
	return rows
}

// rowsByCode lists the rows of each code 0 … largest, in row order. The codes
// must come from ranks or Appearance, as for countCodes.
func rowsByCode(codes []int32) [][]int {
	counts := countCodes(codes)
	rows := make([][]int, len(counts))
	store := make([]int, len(codes))
	for c, n := range counts {
		rows[c], store = store[:0:n], store[n:]
	}
	for i, c := range codes {
		rows[c] = append(rows[c], i)
	}
	return rows
}

// countCodes is how many rows each code 0 … largest has.
func countCodes(codes []int32) []int {
	if len(codes) == 0 {
		return nil
	}
	counts := make([]int, slices.Max(codes)+1)
	for _, c := range codes {
		counts[c]++
	}
	return counts
}

// ranks renumbers codes so that every code from 0 on has rows, keeping their
// order: callers may pass any whole numbers as labels.
func ranks(codes []int32) []int32 {
	if len(codes) == 0 || slices.Min(codes) >= 0 && int(slices.Max(codes)) < len(codes) &&
		!slices.Contains(countCodes(codes), 0) {
		return codes
	}
	return Sorted(codes)
}

// without lists 0 … n-1 less the rows given.
func without(n int, rows []int) []int {
	out := make([]bool, n)
	for _, r := range rows {
		out[r] = true
	}
	var rest []int
	for i, gone := range out {
		if !gone {
			rest = append(rest, i)
		}
	}
	return rest
}
