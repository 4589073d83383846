package table

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// A Table is an immutable, ordered list of columns of one length with unique
// names.
type Table struct {
	cols  []*Column
	index []*Column
	n     int
	by    map[string]int
}

// New returns a table of the given columns. They must have one length and
// unique names. No columns give a table without rows.
func New(cols ...*Column) (*Table, error) {
	n := 0
	if len(cols) > 0 {
		n = cols[0].n
	}
	return build(cols, nil, n)
}

func build(cols, index []*Column, n int) (*Table, error) {
	if n > math.MaxInt32 {
		return nil, fmt.Errorf("build table: %d rows are more than %d", n, math.MaxInt32)
	}
	t := &Table{cols: cols, index: index, n: n, by: make(map[string]int, len(cols))}
	for i, c := range cols {
		if c.n != n {
			return nil, fmt.Errorf("build table: column %q has %d rows, the table has %d", c.name, c.n, n)
		}
		if _, ok := t.by[c.name]; ok {
			return nil, fmt.Errorf("build table: two columns are named %q", c.name)
		}
		t.by[c.name] = i
	}
	return t, nil
}

// Len returns the number of rows.
func (t *Table) Len() int { return t.n }

// Names returns the column names in order.
func (t *Table) Names() []string { return lists.Of(t.cols, (*Column).Name) }

// Columns returns the columns in order. The slice must not be changed.
func (t *Table) Columns() []*Column { return t.cols }

// Index returns the columns that ReadCSV moved to the left because every row
// had more fields than the header; usually none. They follow Take and Slice,
// and are written by no one.
func (t *Table) Index() []*Column { return t.index }

// Has reports whether there is a column of that name.
func (t *Table) Has(name string) bool {
	_, ok := t.by[name]
	return ok
}

// A NoColumnError says that a table lacks a column.
type NoColumnError struct {
	Name string   // the column asked for
	Have []string // the table's columns
}

// Error names the column and those there are.
func (e *NoColumnError) Error() string {
	have := e.Have
	if len(have) > 20 {
		have = append(slices.Clone(have[:20]), "…")
	}
	return fmt.Sprintf("table has no column %q (columns: %s)", e.Name, strings.Join(have, ", "))
}

// Column returns the column of that name, or a *NoColumnError.
func (t *Table) Column(name string) (*Column, error) {
	i, ok := t.by[name]
	if !ok {
		return nil, &NoColumnError{Name: name, Have: t.Names()}
	}
	return t.cols[i], nil
}

func (t *Table) columns(names []string) ([]*Column, error) {
	return TryCollect(len(names), func(i int) (*Column, error) { return t.Column(names[i]) })
}

// Select returns a table of the named columns in that order.
func (t *Table) Select(names ...string) (*Table, error) {
	cols, err := t.columns(names)
	if err != nil {
		return nil, err
	}
	return build(cols, t.index, t.n)
}

// Drop returns a table without the named columns. Each must be there.
func (t *Table) Drop(names ...string) (*Table, error) {
	if _, err := t.columns(names); err != nil {
		return nil, err
	}
	keep := slices.DeleteFunc(slices.Clone(t.cols), func(c *Column) bool { return slices.Contains(names, c.name) })
	return build(keep, t.index, t.n)
}

// Rename returns the table with column from renamed to to.
func (t *Table) Rename(from, to string) (*Table, error) {
	if _, err := t.Column(from); err != nil {
		return nil, err
	}
	cols := slices.Clone(t.cols)
	cols[t.by[from]] = cols[t.by[from]].Rename(to)
	return build(cols, t.index, t.n)
}

// With returns the table with the columns added at the end; a column whose
// name the table has takes that one's place.
func (t *Table) With(cols ...*Column) (*Table, error) {
	all := slices.Clone(t.cols)
	for _, c := range cols {
		at := slices.IndexFunc(all, func(o *Column) bool { return o.name == c.name })
		if at < 0 {
			all = append(all, c)
		} else {
			all[at] = c
		}
	}
	n := t.n
	if len(t.cols) == 0 && n == 0 && len(all) > 0 {
		n = all[0].n
	}
	return build(all, t.index, n)
}

// Take returns the rows with the given numbers, in that order, sharing the
// data. A negative number gives a row of missing values, for which integer
// columns become Float64. A number beyond the table panics, as an index would.
func (t *Table) Take(rows []int) *Table {
	small := make([]int32, len(rows))
	for i, r := range rows {
		if r >= t.n {
			panic(fmt.Sprintf("table: row %d of %d", r, t.n))
		}
		small[i] = int32(max(r, -1))
	}
	return t.TakeRows(small)
}

// TakeRows is Take with row numbers below t.Len that the new table owns.
func (t *Table) TakeRows(rows []int32) *Table { return t.apply(len(rows), takeShared(rows)) }

// takeShared takes rows from columns; columns that look at the same rows of
// their data go on sharing one list of row numbers.
func takeShared(rows []int32) func(*Column) *Column {
	var last *Column
	var composed []int32
	return func(c *Column) *Column {
		if last == nil || !c.same(last) {
			last, composed = c, c.compose(rows)
		}
		return c.over(composed)
	}
}

// Slice returns rows lo up to, not including, hi.
func (t *Table) Slice(lo, hi int) *Table {
	if lo < 0 || hi < lo || hi > t.n {
		panic(fmt.Sprintf("table: rows %d to %d of %d", lo, hi, t.n))
	}
	return t.apply(hi-lo, func(c *Column) *Column { return c.Slice(lo, hi) })
}

// apply maps every column, index included, to one of n rows.
func (t *Table) apply(n int, f func(*Column) *Column) *Table {
	return &Table{n: n, by: t.by, cols: lists.Of(t.cols, f), index: lists.Of(t.index, f)}
}
