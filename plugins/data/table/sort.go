package table

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
)

// ArgSort returns the row numbers in the order of pandas sort_values on the
// named columns: one column by numpy's quicksort, which is not stable, several
// by a stable lexicographic sort. Missing values come last, strings are ordered
// by code point.
func (t *Table) ArgSort(names ...string) ([]int32, error) {
	cols, err := t.columns(names)
	if err != nil {
		return nil, fmt.Errorf("sort: %w", err)
	}
	if len(cols) == 1 {
		return cols[0].ArgSort(false)
	}
	return lexSort(cols, t.n)
}

// SortBy returns the rows in ArgSort's order.
func (t *Table) SortBy(names ...string) (*Table, error) {
	rows, err := t.ArgSort(names...)
	if err != nil {
		return nil, err
	}
	return t.TakeRows(rows), nil
}

// ArgSort returns the positions of the cells in order, missing ones last.
// Unless it is stable, equal cells come in the order that the scalar introsort of
// numpy.argsort leaves them in. (numpy sorts numbers by vector instructions
// where the processor has them, with another order of equal numbers; strings
// never.) A Mixed column of strings and numbers has no order.
func (c *Column) ArgSort(stable bool) ([]int32, error) {
	if c.kind == Int64 {
		if order := orderOfDistinct(c.n, func(do func(int, []int64) bool) { each(c, (*Column).IntsInto, do) }); order != nil {
			return order, nil
		}
	}
	if c.complete() {
		return c.argSort(nil, c.n, stable)
	}
	at, missing := c.present()
	order, err := c.argSort(at, len(at), stable)
	if err != nil {
		return nil, fmt.Errorf("sort by column %q: %w", c.name, err)
	}
	for k, place := range order {
		order[k] = at[place]
	}
	return append(order, missing...), nil
}

// orderOfDistinct returns the order of integers that are all different, if they
// increase or are close to each other; nil otherwise.
func orderOfDistinct[T int64 | uint64](n int, each func(do func(at int, cells []T) bool)) []int32 {
	var lo, hi, last T
	increasing := true
	each(func(at int, cells []T) bool {
		if at == 0 {
			lo, hi, last = cells[0], cells[0], cells[0]
			cells = cells[1:]
		}
		for _, v := range cells {
			increasing = increasing && v > last
			lo, hi, last = min(lo, v), max(hi, v), v
		}
		return true
	})
	if increasing {
		return ascending(n)
	}
	if uint64(hi)-uint64(lo) >= 4*uint64(n) {
		return nil
	}
	rows, distinct := make([]int32, hi-lo+1), true // by value, counted from one
	each(func(at int, cells []T) bool {
		for i, v := range cells {
			distinct = distinct && rows[v-lo] == 0
			rows[v-lo] = int32(at + i + 1)
		}
		return distinct
	})
	if !distinct {
		return nil
	}
	order := rows[:0]
	for _, r := range rows {
		if r > 0 {
			order = append(order, r-1)
		}
	}
	return order
}

// present returns which cells there are and which are missing.
func (c *Column) present() (present, missing []int32) {
	present = make([]int32, 0, c.n)
	for i := range int32(c.n) {
		if c.IsMissing(int(i)) {
			missing = append(missing, i)
		} else {
			present = append(present, i)
		}
	}
	return present, missing
}

// complete reports whether it is plain that no cell is missing.
func (c *Column) complete() bool {
	return c.kind == Int64 || c.kind == Uint64 ||
		(c.kind == Text || c.kind == Bool) && c.rows == nil && !slices.ContainsFunc(c.parts(), func(v *vector) bool { return v.valid != nil })
}

// argSort sorts the n cells at the given positions, or all of them if at is nil,
// and returns the order as places in at.
func (c *Column) argSort(at []int32, n int, stable bool) ([]int32, error) {
	place := func(k int) int { return int(at[k]) }
	if at == nil {
		place = func(k int) int { return k }
	}
	switch c.kind {
	case Int64:
		return argSort(Collect(n, func(k int) int64 { return c.Int(place(k)) }), stable), nil
	case Uint64:
		return argSort(Collect(n, func(k int) uint64 { return c.Value(place(k)).bits }), stable), nil
	case Float64:
		return argSort(Collect(n, func(k int) float64 { return c.Float(place(k)) }), stable), nil
	case Bool:
		return argSort(Collect(n, func(k int) int64 { return c.Value(place(k)).Int() }), stable), nil
	case Text:
		if at == nil && !stable {
			return c.argSortTexts(), nil
		}
		return argSortTexts(n, func(k int) string { return c.Text(place(k)) }, stable), nil
	}
	return mixedArgSort(Collect(n, func(k int) Value { return c.Value(place(k)) }), stable)
}

// mixedArgSort sorts values that are all strings or all numbers.
func mixedArgSort(v []Value, stable bool) ([]int32, error) {
	texts := 0
	for _, x := range v {
		if x.kind == Text {
			texts++
		}
	}
	switch texts {
	case len(v):
		return argSortTexts(len(v), func(k int) string { return v[k].String() }, stable), nil
	case 0:
		return argSort(exactRanks(v), stable), nil
	}
	return nil, fmt.Errorf("%d texts and %d numbers have no order", texts, len(v)-texts)
}

// exactRanks numbers numbers in their order, equal ones alike.
func exactRanks(v []Value) []int32 {
	order, ranks := ascending(len(v)), make([]int32, len(v))
	slices.SortFunc(order, func(a, b int32) int { return v[a].Compare(v[b]) })
	for k := 1; k < len(order); k++ {
		ranks[order[k]] = ranks[order[k-1]]
		if v[order[k]].Compare(v[order[k-1]]) != 0 {
			ranks[order[k]]++
		}
	}
	return ranks
}

func argSort[T cmp.Ordered](v []T, stable bool) []int32 {
	order := ascending(len(v))
	if stable {
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(v[a], v[b]) })
	} else {
		introsort(v, order)
	}
	return order
}

func argSortTexts(n int, text func(int) string, stable bool) []int32 {
	if stable {
		return argSort(Collect(n, text), stable)
	}
	return introsortTexts(n, text, nil)
}

// argSortTexts sorts all cells of a column, of which none is missing.
func (c *Column) argSortTexts() []int32 {
	var keys []uint64
	if parts, exact := c.hexParts(); parts != nil {
		each := func(do func(at int, cells []uint64) bool) {
			at := 0
			for _, h := range parts {
				do(at, h.low)
				at += len(h.low)
			}
		}
		if exact {
			if order := orderOfDistinct(c.n, each); order != nil {
				return order
			}
		}
		keys = hexKeys(parts, exact)
	}
	return introsortTexts(c.n, c.Text, keys)
}

// lexSort sorts by the first column, then the second, …, keeping the order of
// equal rows.
func lexSort(cols []*Column, n int) ([]int32, error) {
	ranks, err := TryCollect(len(cols), func(k int) ([]int32, error) { return cols[k].ranks() })
	if err != nil {
		return nil, err
	}
	rows := ascending(n)
	slices.SortStableFunc(rows, func(a, b int32) int {
		for _, r := range ranks {
			if r[a] != r[b] {
				return cmp.Compare(r[a], r[b])
			}
		}
		return 0
	})
	return rows, nil
}

// ranks numbers the distinct values of the column in order, the missing value
// last.
func (c *Column) ranks() ([]int32, error) {
	order, err := c.ArgSort(true)
	if err != nil {
		return nil, err
	}
	ranks := make([]int32, c.n)
	rank := int32(0)
	for k, i := range order {
		if k > 0 && !c.equal(int(order[k-1]), int(i)) {
			rank++
		}
		ranks[i] = rank
	}
	return ranks, nil
}

// equal reports whether two cells hold the same value, missing ones included.
func (c *Column) equal(i, j int) bool {
	if c.kind == Text {
		return c.IsMissing(i) == c.IsMissing(j) && c.Text(i) == c.Text(j)
	}
	return c.Value(i).Exact() == c.Value(j).Exact()
}

const smallSort = 15 // places less one

// introsort sorts order by the values it points at, leaving equal ones where
// numpy's argsort (npy_aquicksort) leaves them: quicksort with the median of
// three as pivot, the smaller part first, insertion sort for at most 16 places
// and heapsort once the depth exceeds twice the logarithm of the length.
func introsort[T cmp.Ordered](v []T, order []int32) {
	type span struct{ lo, hi, depth int }
	if len(order) < 2 {
		return
	}
	todo := []span{{0, len(order) - 1, 2 * (bits.Len(uint(len(order))) - 1)}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.depth < 0 {
			heapsort(v, order[s.lo:s.hi+1])
			continue
		}
		for s.hi-s.lo > smallSort {
			p := partition(v, order, s.lo, s.hi)
			s.depth--
			if p-s.lo < s.hi-p {
				todo = append(todo, span{p + 1, s.hi, s.depth})
				s.hi = p - 1
			} else {
				todo = append(todo, span{s.lo, p - 1, s.depth})
				s.lo = p + 1
			}
		}
		insertionSort(v, order, s.lo, s.hi)
	}
}

// partition moves the median of three of order[lo:hi+1] to its final place,
// which it returns, smaller values before and larger ones behind it.
func partition[T cmp.Ordered](v []T, order []int32, lo, hi int) int {
	mid := lo + (hi-lo)>>1
	if v[order[mid]] < v[order[lo]] {
		order[mid], order[lo] = order[lo], order[mid]
	}
	if v[order[hi]] < v[order[mid]] {
		order[hi], order[mid] = order[mid], order[hi]
	}
	if v[order[mid]] < v[order[lo]] {
		order[mid], order[lo] = order[lo], order[mid]
	}
	pivot := v[order[mid]]
	i, j := lo, hi-1
	order[mid], order[j] = order[j], order[mid]
	for {
		for i++; v[order[i]] < pivot; i++ {
		}
		for j--; pivot < v[order[j]]; j-- {
		}
		if i >= j {
			break
		}
		order[i], order[j] = order[j], order[i]
	}
	order[i], order[hi-1] = order[hi-1], order[i]
	return i
}

func insertionSort[T cmp.Ordered](v []T, order []int32, lo, hi int) {
	for i := lo + 1; i <= hi; i++ {
		x := order[i]
		j := i
		for ; j > lo && v[x] < v[order[j-1]]; j-- {
			order[j] = order[j-1]
		}
		order[j] = x
	}
}

func heapsort[T cmp.Ordered](v []T, order []int32) {
	n := len(order)
	for l := n / 2; l > 0; l-- {
		siftDown(v, order[:n], l, order[l-1])
	}
	for n > 1 {
		x := order[n-1]
		order[n-1] = order[0]
		n--
		siftDown(v, order[:n], 1, x)
	}
}

// siftDown puts x into the heap at place i, counted from one.
func siftDown[T cmp.Ordered](v []T, heap []int32, i int, x int32) {
	for j := 2 * i; j <= len(heap); j *= 2 {
		if j < len(heap) && v[heap[j-1]] < v[heap[j]] {
			j++
		}
		if !(v[x] < v[heap[j-1]]) {
			break
		}
		heap[i-1] = heap[j-1]
		i = j
	}
	heap[i-1] = x
}
