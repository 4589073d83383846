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
func (t *Table) ArgSort(names ...string) ([]int, error) {
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
	return t.Take(rows), nil
}

// ArgSort returns the positions of the cells in order, missing ones last.
// Unless it is stable, equal cells come in the order that the scalar introsort of
// numpy.argsort leaves them in. (numpy sorts numbers by vector instructions
// where the processor has them, with another order of equal numbers; strings
// never.) A Mixed column of strings and numbers has no order.
func (c *Column) ArgSort(stable bool) ([]int, error) {
	present, missing := c.present()
	order, err := c.argSort(present, stable)
	if err != nil {
		return nil, fmt.Errorf("sort by column %q: %w", c.name, err)
	}
	out := make([]int, 0, c.n)
	for _, k := range order {
		out = append(out, int(present[k]))
	}
	return append(out, missing...), nil
}

// present returns which cells there are and which are missing.
func (c *Column) present() (present []int32, missing []int) {
	if c.complete() {
		return ascending(c.n), nil
	}
	present = make([]int32, 0, c.n)
	for i := range c.n {
		if c.IsMissing(i) {
			missing = append(missing, i)
		} else {
			present = append(present, int32(i))
		}
	}
	return present, missing
}

// complete reports whether it is plain that no cell is missing.
func (c *Column) complete() bool {
	return c.kind == Text && c.rows == nil && !slices.ContainsFunc(c.parts(), func(v *vector) bool { return v.valid != nil })
}

// argSort sorts the cells at the given positions and returns the order as
// places in at.
func (c *Column) argSort(at []int32, stable bool) ([]int32, error) {
	switch c.kind {
	case Int64:
		return argSort(pick(at, c.Int), stable), nil
	case Uint64:
		return argSort(pick(at, func(i int) uint64 { return c.Value(i).bits }), stable), nil
	case Float64:
		return argSort(pick(at, c.Float), stable), nil
	case Bool:
		return argSort(pick(at, func(i int) int64 { return c.Value(i).Int() }), stable), nil
	case Text:
		return argSortTexts(len(at), func(k int) string { return c.Text(int(at[k])) }, stable), nil
	}
	return mixedArgSort(pick(at, c.Value), stable)
}

func pick[T any](at []int32, cell func(int) T) []T {
	out := make([]T, len(at))
	for k, i := range at {
		out[k] = cell(int(i))
	}
	return out
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
		return argSort(mapValues(v, Value.Float), stable), nil
	}
	return nil, fmt.Errorf("%d texts and %d numbers have no order", texts, len(v)-texts)
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
		return argSort(collect(n, text), stable)
	}
	return introsortTexts(n, text)
}

// lexSort sorts by the first column, then the second, …, keeping the order of
// equal rows.
func lexSort(cols []*Column, n int) ([]int, error) {
	ranks := make([][]int32, len(cols))
	for k, c := range cols {
		var err error
		if ranks[k], err = c.ranks(); err != nil {
			return nil, err
		}
	}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int {
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
		if k > 0 && !c.equal(order[k-1], i) {
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
	a, b := c.Value(i), c.Value(j)
	if a.kind == Missing || b.kind == Missing || a.kind == Text || b.kind == Text {
		return a == b
	}
	if a.kind == b.kind && a.kind != Float64 {
		return a.bits == b.bits
	}
	return a.Float() == b.Float()
}
