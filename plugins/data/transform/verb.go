package transform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// Verb is a function of the prepare language.
//
// Func is a Go function. Its parameters may be *Input (first, not written by
// the author), *table.Table, *table.Column, table.Value, Operand, Rows,
// Fields, Options, PythonState, string, int, float64, bool, []string,
// []table.Value and, last, a pointer to a struct of options whose fields carry
// `verb:"name"` tags; it may
// be variadic. It returns a result, or a result and an error; a struct result
// with `verb` tags becomes an object.
type Verb struct {
	// Name is the verb's name in a definition.
	Name string
	// Params names the parameters in order, without Input and with the options
	// last where there are any.
	Params []string
	// Summary describes the verb's result in one sentence.
	Summary string
	// Detail says more where it is needed: order, ties, missing cells, errors.
	Detail string
	// Source names the library function that the verb equals, or is empty.
	Source string
	Func   any
}

// Verbs returns all verbs sorted by name.
func Verbs() []Verb {
	all := slices.Clone(registry)
	slices.SortFunc(all, func(a, b Verb) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Input is the data that reading verbs may read.
type Input struct {
	Context context.Context
	// Raw is the raw folder.
	Raw fs.FS

	mu   sync.Mutex
	open []io.Closer
}

// reading says in an error which verb could not read which file.
func reading(verb, path string, err *error) {
	_, named := errors.AsType[*fs.PathError](*err)
	switch {
	case *err == nil:
	case named:
		*err = fmt.Errorf("%s: %w", verb, *err)
	default:
		*err = fmt.Errorf("%s %s: %w", verb, path, *err)
	}
}

// keepOpen leaves a file open until Close, for verbs that read later.
func (in *Input) keepOpen(c io.Closer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open = append(in.open, c)
}

// Close closes the files that verbs kept open.
func (in *Input) Close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	errs := lists.Of(in.open, io.Closer.Close)
	in.open = nil
	return errors.Join(errs...)
}

// Rows are things with rows: see the package documentation.
type Rows interface {
	// Len is the number of rows.
	Len() int
	// Take returns the rows with the given numbers, in that order.
	Take(rows []int) Rows
}

// TableRows is a table as Rows.
type TableRows struct{ *table.Table }

// Take implements Rows.
func (r TableRows) Take(rows []int) Rows { return TableRows{r.Table.Take(rows)} }

// ColumnRows is a column as Rows.
type ColumnRows struct{ *table.Column }

// Take implements Rows.
func (r ColumnRows) Take(rows []int) Rows { return ColumnRows{takeColumn(r.Column, rows)} }

// ListRows is a list of values as Rows.
type ListRows []table.Value

// Len implements Rows.
func (r ListRows) Len() int { return len(r) }

// Take implements Rows.
func (r ListRows) Take(rows []int) Rows { return taken(r, rows) }

// taken returns the elements at the positions.
func taken[L ~[]E, E any](list L, at []int) L { return lists.Of(at, func(i int) E { return list[i] }) }

// takeColumn takes rows of one column. The name is kept.
func takeColumn(c *table.Column, rows []int) *table.Column {
	t, err := table.New(c)
	if err != nil {
		return c
	}
	return t.Take(rows).Columns()[0]
}

// Field is one named value of an ordered object.
type Field struct {
	Name  string
	Value Operand
}

// Fields is an object in the order in which it was written.
type Fields []Field

// Operand is a column, or one value that stands for every row.
type Operand struct {
	Column *table.Column
	Value  table.Value
}

// Len returns the number of rows, or -1 for a single value.
func (o Operand) Len() int {
	if o.Column == nil {
		return -1
	}
	return o.Column.Len()
}

// at returns the value of row i.
func (o Operand) at(i int) table.Value {
	if o.Column == nil {
		return o.Value
	}
	return o.Column.Value(i)
}

// missing reports whether row i has no value.
func (o Operand) missing(i int) bool {
	if o.Column == nil {
		return o.Value.IsMissing()
	}
	return o.Column.IsMissing(i)
}

// constant returns a column of n equal cells.
func constant(name string, v table.Value, n int) *table.Column {
	switch v.Kind() {
	case table.Int64:
		return table.FromInts(name, slices.Repeat([]int64{v.Int()}, n))
	case table.Text:
		return table.FromTexts(name, slices.Repeat([]string{v.String()}, n), nil)
	case table.Bool:
		return table.FromBools(name, slices.Repeat([]bool{v.Bool()}, n), nil)
	case table.Float64, table.Missing:
		return table.FromFloats(name, slices.Repeat([]float64{v.Float()}, n))
	}
	return table.FromValues(name, slices.Repeat([]table.Value{v}, n))
}

// column returns the operand as a column of n cells.
func (o Operand) column(name string, n int) *table.Column {
	if o.Column == nil {
		return constant(name, o.Value, n)
	}
	return o.Column.Rename(name)
}

// Columned is implemented by rows whose fields can be read as columns.
type Columned interface {
	// Column returns the field of that name of every row.
	Column(name string) (*table.Column, error)
}

// members are the distinct values of a column or a list; integers, of
// which there may be millions, take little memory.
type members struct {
	table.Lookup
	whole map[int64]struct{}
	other map[table.Value]struct{}
}

// memberSetOf returns the values of a column or a list to look cells of a kind up
// in. As in pandas, numbers of different types are compared as floats, but in a
// list only with those of int64.
func memberSetOf(values Rows, of table.Kind) (members, error) {
	m := members{whole: map[int64]struct{}{}, other: map[table.Value]struct{}{}}
	switch r := values.(type) {
	case ColumnRows:
		m.Lookup = table.LookupIn(of, r.Kind())
		for i := range r.Len() {
			m.add(r.Value(i))
		}
	case ListRows:
		if of == table.Int64 {
			m.Lookup = table.LookupIn(of, arrayKind(r))
		}
		for _, v := range r {
			m.add(v)
		}
	default:
		return m, errors.New("the values must be a column or a list")
	}
	return m, nil
}

// arrayKind returns the kind of numpy's array of the values.
func arrayKind(v []table.Value) table.Kind {
	kind := table.CommonKind(v)
	if kind == table.Mixed && !slices.ContainsFunc(v, func(x table.Value) bool { return !x.Kind().IsNumber() }) {
		return table.Float64
	}
	return kind
}

func (m members) add(v table.Value) {
	if k := m.Key(v); k.Kind() == table.Int64 {
		m.whole[k.Int()] = struct{}{}
	} else {
		m.other[k] = struct{}{}
	}
}

// has reports whether a value is one of them.
func (m members) has(v table.Value) bool {
	k := m.Key(v)
	if k.Kind() == table.Int64 {
		_, ok := m.whole[k.Int()]
		return ok
	}
	_, ok := m.other[k]
	return ok
}
