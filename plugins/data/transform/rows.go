package transform

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/random"
)

var takeVerb = Verb{
	Name: "take", Params: []string{"rows", "positions"},
	Summary: "The rows at the positions, from 0, in their order.",
	Func: func(rows Rows, positions *table.Column) (Rows, error) {
		at, err := rowsAt("take", positions, rows.Len())
		if err != nil {
			return nil, err
		}
		return rows.Take(at), nil
	},
}

// rowsAt returns a column of positions in n rows.
func rowsAt(verb string, positions *table.Column, n int) ([]int, error) {
	return table.TryCollect(positions.Len(), func(i int) (at int, err error) {
		if at = int(positions.Int(i)); at < 0 || at >= n || positions.Kind() != table.Int64 {
			err = fmt.Errorf("%s: position %s of row %d is not between 0 and %d", verb, positions.Text(i), i, n-1)
		}
		return at, err
	})
}

var headVerb = Verb{
	Name: "head", Params: []string{"rows", "count"},
	Summary: "The first count rows, or all.",
	Func: func(rows Rows, count int) (Rows, error) {
		if count < 0 {
			return nil, fmt.Errorf("head: count %d is negative", count)
		}
		if r, ok := rows.(*Lines); ok {
			return r.head(count), nil
		}
		return rows.Take(span(0, min(count, rows.Len()))), nil
	},
}

var tailVerb = Verb{
	Name: "skip", Params: []string{"rows", "start"},
	Summary: "The rows from position start, from 0, on.",
	Func: func(rows Rows, start int) (Rows, error) {
		if start < 0 {
			return nil, fmt.Errorf("skip: start %d is negative", start)
		}
		return rows.Take(span(min(start, rows.Len()), rows.Len())), nil
	},
}

// span returns lo, lo+1, … hi-1.
func span(lo, hi int) []int { return table.Collect(hi-lo, func(i int) int { return lo + i }) }

var reverseVerb = Verb{
	Name: "reverse", Params: []string{"rows"},
	Summary: "The rows in reverse order.",
	Func: func(rows Rows) Rows {
		at := span(0, rows.Len())
		slices.Reverse(at)
		return rows.Take(at)
	},
}

var filterVerb = Verb{
	Name: "filter", Params: []string{"rows", "condition"},
	Summary: "The rows for which the condition, a boolean column, is true, in order.",
	Detail:  "Missing counts as false.",
	Func: func(rows Rows, condition *table.Column) (Rows, error) {
		if condition.Kind() != table.Bool || condition.Len() != rows.Len() {
			return nil, fmt.Errorf("filter: the condition has %d %s cells; it must have %d booleans, as in t.x == 1", condition.Len(), condition.Kind(), rows.Len())
		}
		return pickRows(rows, condition.Bool), nil
	},
}

func where(n int, keep func(int) bool) []int {
	at := make([]int, 0, n) // growing it would touch more memory
	for i := range n {
		if keep(i) {
			at = append(at, i)
		}
	}
	return at
}

var whereInVerb = Verb{
	Name: "where_in", Params: []string{"rows", "column", "values"},
	Summary: "The rows whose cell in the column is among the values (a column or list), in order.",
	Detail:  "rows are anything with columns. Numbers compare by value. A missing cell is among values of which one is missing.",
	Source:  "table[table[column].isin(values)]",
	Func: func(rows Rows, column string, values Rows) (Rows, error) {
		return whereMember(rows, column, values, true)
	},
}

var whereNotInVerb = Verb{
	Name: "where_not_in", Params: []string{"rows", "column", "values"},
	Summary: "The rows that where_in leaves out.",
	Source:  "table[~table[column].isin(values)]",
	Func: func(rows Rows, column string, values Rows) (Rows, error) {
		return whereMember(rows, column, values, false)
	},
}

var isInVerb = Verb{
	Name: "isin", Params: []string{"column", "values"},
	Summary: "Whether each cell is among the values (a column or list).",
	Source:  "column.isin(values)",
	Func: func(c *table.Column, values Rows) (*table.Column, error) {
		set, err := memberSetOf(values, c.Kind())
		if err != nil {
			return nil, err
		}
		return table.FromBools(c.Name(), table.Collect(c.Len(), func(i int) bool { return set.has(c.Value(i)) }), nil), nil
	},
}

func whereMember(rows Rows, column string, values Rows, in bool) (Rows, error) {
	switch r := rows.(type) {
	case stream:
		set, err := memberSetOf(values, table.Missing)
		if err != nil {
			return nil, err
		}
		return r.Where(column, func(v table.Value) bool { return set.has(v) == in })
	case Columned:
		c, err := r.Column(column)
		if err != nil {
			return nil, err
		}
		set, err := memberSetOf(values, c.Kind())
		if err != nil {
			return nil, err
		}
		ints := intsOf(c)
		var v, last table.Value // rows with the same cell often follow one another
		kept := set.has(last) == in
		return rows.Take(where(c.Len(), func(i int) bool {
			if ints != nil {
				v = table.IntValue(ints[i])
			} else {
				v = c.Value(i)
			}
			if v != last {
				last, kept = v, set.has(v) == in
			}
			return kept
		})), nil
	}
	return nil, errors.New("these rows have no columns")
}

var uniqueVerb = Verb{
	Name: "unique", Params: []string{"column"},
	Summary: "The distinct values in order of first appearance.",
	Detail:  "Missing cells are one value.",
	Source:  "pandas.Series.unique",
	Func: func(c *table.Column) *table.Column {
		codes, count := codesOf(true, c)
		first := make([]int, 0, count)
		for i, code := range codes {
			if code == len(first) {
				first = append(first, i)
			}
		}
		return takeColumn(c, first)
	},
}

var sortVerb = Verb{
	Name: "sort", Params: []string{"column"},
	Summary: "A column or list, smallest first; strings by code points, missing cells last.",
	Source:  "sorted(list)",
	Func: func(rows Rows) (Rows, error) {
		switch r := rows.(type) {
		case ColumnRows:
			return r.Take(stableOrder(r.Values())), nil
		case ListRows:
			return r.Take(stableOrder(r)), nil
		}
		return nil, fmt.Errorf("sort works on a column or a list; use sort_values for a table")
	},
}

// stableOrder returns the order of values, smallest first: numbers before
// strings, missing cells last, ties in their old order.
func stableOrder(v []table.Value) []int {
	at := span(0, len(v))
	slices.SortStableFunc(at, func(i, j int) int { return compareValues(v[i], v[j]) })
	return at
}

func compareValues(x, y table.Value) int {
	if x.Kind() == table.Int64 && y.Kind() == table.Int64 {
		return cmp.Compare(x.Int(), y.Int())
	}
	rank := func(v table.Value) int {
		switch {
		case v.IsMissing():
			return 2
		case v.Kind() == table.Text:
			return 1
		}
		return 0
	}
	switch rx, ry := rank(x), rank(y); {
	case rx != ry:
		return rx - ry
	case rx == 2:
		return 0
	case rx == 1:
		return cmp.Compare(x.String(), y.String())
	}
	return x.Compare(y)
}

var sortByVerb = Verb{
	Name: "sort_values", Params: []string{"table", "columns…"},
	Summary: "The table sorted by one or several columns.",
	Detail:  "By one column it is numpy's introsort, which is not stable; by several it is stable. Missing cells come last.",
	Source:  "pandas.DataFrame.sort_values",
	Func: func(t *table.Table, columns ...string) (*table.Table, error) {
		if len(columns) == 0 {
			return nil, fmt.Errorf("sort_values: name at least one column")
		}
		return t.SortBy(columns...)
	},
}

var concatVerb = Verb{
	Name: "concat", Params: []string{"rows…"},
	Summary: "Tables, columns or lists concatenated.",
	Detail:  "Tables align by column name, with missing cells where a table lacks one. A column gets the first's name.",
	Source:  "pandas.concat(ignore_index=True)",
	Func:    concatRows,
}

func concatRows(all ...Rows) (Rows, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("concat needs at least one argument")
	}
	var tables []*table.Table
	var list ListRows
	for i, rows := range all {
		switch r := rows.(type) {
		case TableRows:
			tables = append(tables, r.Table)
		case ColumnRows:
			t, err := table.New(r.Column.Rename("column"))
			if err != nil {
				return nil, err
			}
			tables = append(tables, t)
		case ListRows:
			list = append(list, r...)
		default:
			return nil, fmt.Errorf("concat: argument %d is not a table, column or list", i+1)
		}
		if fmt.Sprintf("%T", rows) != fmt.Sprintf("%T", all[0]) {
			return nil, fmt.Errorf("concat: argument %d must have the same type as the first", i+1)
		}
	}
	if tables == nil {
		return list, nil
	}
	joined, err := table.Concat(tables...)
	if err != nil {
		return nil, fmt.Errorf("concat: %w", err)
	}
	if first, ok := all[0].(ColumnRows); ok {
		return ColumnRows{joined.Columns()[0].Rename(first.Name())}, nil
	}
	return TableRows{joined}, nil
}

// sampleOptions are the options of sample.
type sampleOptions struct {
	Count       *int     `verb:"count"`
	Share       *float64 `verb:"share"`
	RandomState int      `verb:"random_state"`
}

var sampleVerb = Verb{
	Name: "sample", Params: []string{"rows", "options"},
	Summary: "Rows drawn without replacement, in that order.",
	Detail:  "Options: count, or share (rounded, halves to even), and the seed random_state.",
	Source:  "pandas.DataFrame.sample(n=, frac=, random_state=)",
	Func: func(rows Rows, o *sampleOptions) (Rows, error) {
		drawn, err := o.draw(rows.Len())
		if err != nil {
			return nil, err
		}
		return rows.Take(drawn), nil
	},
}

// draw returns the numbers of the drawn rows of so many.
func (o *sampleOptions) draw(rows int) ([]int, error) {
	n, err := o.size(rows)
	if err != nil {
		return nil, err
	}
	if o.RandomState < 0 || o.RandomState > math.MaxUint32 {
		return nil, fmt.Errorf("sample: random_state %d is not between 0 and 4294967295", o.RandomState)
	}
	return random.NewRandomState(uint32(o.RandomState)).Permutation(rows)[:n], nil
}

func (o *sampleOptions) size(rows int) (int, error) {
	if (o.Count == nil) == (o.Share == nil) {
		return 0, fmt.Errorf("sample: give either count or share")
	}
	n := 0
	if o.Count != nil {
		n = *o.Count
	} else {
		n = int(math.RoundToEven(*o.Share * float64(rows)))
	}
	if n < 0 || n > rows {
		return 0, fmt.Errorf("sample: cannot draw %d of %d rows", n, rows)
	}
	return n, nil
}

var takeGroupsVerb = Verb{
	Name: "take_groups", Params: []string{"table", "column", "keys"},
	Summary: "The rows of a table, group after group in the order of the keys.",
	Detail:  "A group is all rows with the key in the column, in order. A key without rows adds none.",
	Source:  "pandas.concat([group for key in keys])",
	Func: func(t *table.Table, column string, keys []table.Value) (*table.Table, error) {
		c, err := t.Column(column)
		if err != nil {
			return nil, err
		}
		rows := rowsByCode(codesOf(true, c))
		groups := make(map[table.Value][]int, len(rows))
		for _, group := range rows {
			groups[c.Value(group[0]).Exact()] = group
		}
		var at []int
		for _, v := range keys {
			at = append(at, groups[v.Exact()]...)
		}
		return t.Take(at), nil
	},
}
