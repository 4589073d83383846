package table

import (
	"cmp"
	"fmt"
	"slices"
)

// ArgSort returns the row numbers in the order of pandas sort_values on the
// named columns: one column by numpy's quicksort, which is not stable, several
// by a stable lexicographic sort. Missing values come last, strings are ordered
// by code point.
func (t *Table) ArgSort(names ...string) ([]int32, error) {
	cols := make([]*Column, len(names))
	for i, name := range names {
		c, err := t.Column(name)
		if err != nil {
			return nil, fmt.Errorf("sort: %w", err)
		}
		cols[i] = c
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
	ranks := make([][]int32, len(cols))
	for k, c := range cols {
		var err error
		if ranks[k], err = c.ranks(); err != nil {
			return nil, err
		}
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
