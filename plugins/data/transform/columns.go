package transform

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/random"
)

var tableVerb = Verb{
	Name: "table", Params: []string{"columns"},
	Summary: "A table of the columns, in the order written; a single value fills all rows.",
	Func: func(fields Fields) (*table.Table, error) {
		n := -1
		for _, f := range fields {
			if f.Value.Column != nil {
				n = max(n, f.Value.Len())
			}
		}
		return withFields(new(table.Table), fields, max(n, 0))
	},
}

var withVerb = Verb{
	Name: "assign", Params: []string{"table", "columns"},
	Summary: "The table with columns added at the end, in the order written, or replaced in place.",
	Detail:  `A single value fills all rows: integers, other numbers as floats, "" as empty strings. Quote names with spaces.`,
	Source:  "table[name] = value",
	Func: func(t *table.Table, fields Fields) (*table.Table, error) {
		return withFields(t, fields, t.Len())
	},
}

func withFields(t *table.Table, fields Fields, n int) (*table.Table, error) {
	cols := make([]*table.Column, len(fields))
	for i, f := range fields {
		if have := f.Value.Len(); have >= 0 && have != n {
			return nil, fmt.Errorf("column %q has %d rows, the table has %d", f.Name, have, n)
		}
		cols[i] = f.Value.column(f.Name, n)
	}
	return t.With(cols...)
}

var selectVerb = Verb{
	Name: "select", Params: []string{"rows", "columns…"},
	Summary: "The columns, in that order; names or a list.",
	Source:  "table[columns]",
	Func: func(rows Rows, columns ...[]string) (Rows, error) {
		names := slices.Concat(columns...)
		switch r := rows.(type) {
		case TableRows:
			t, err := r.Table.Select(names...)
			return TableRows{t}, err
		case stream:
			return r.Select(names...)
		}
		return nil, errors.New("expected a table or the rows of a file")
	},
}

var dropVerb = Verb{
	Name: "drop", Params: []string{"rows", "columns…"},
	Summary: "The table without the columns, which must exist; names or a list.",
	Detail:  "Documents lose the fields where they have them.",
	Source:  "table.drop(columns=columns)",
	Func: func(rows Rows, columns ...[]string) (Rows, error) {
		names := slices.Concat(columns...)
		switch r := rows.(type) {
		case TableRows:
			t, err := r.Table.Drop(names...)
			return TableRows{t}, err
		case *Documents:
			return r.without(names), nil
		case *parquetRows:
			return r.without(names)
		}
		return nil, errors.New("expected a table or the rows of a file")
	},
}

var renameVerb = Verb{
	Name: "rename", Params: []string{"table", "names"},
	Summary: `The table with columns renamed, { old = "new" }, in order.`,
	Func: func(t *table.Table, names Fields) (*table.Table, error) {
		cols := slices.Clone(t.Columns())
		for _, f := range names {
			at := slices.Index(t.Names(), f.Name)
			if at < 0 {
				return nil, &table.NoColumnError{Name: f.Name, Have: t.Names()}
			}
			cols[at] = cols[at].Rename(f.Value.Value.String())
		}
		return table.New(cols...)
	},
}

var fillVerb = Verb{
	Name: "fill", Params: []string{"table", "columns", "value"},
	Summary: "The table with each of the columns set to one value or column; new ones come last.",
	Source:  "table[columns] = value",
	Func: func(t *table.Table, columns []string, v Operand) (*table.Table, error) {
		return withFields(t, table.Collect(len(columns), func(i int) Field { return Field{columns[i], v} }), t.Len())
	},
}

var fillMissingVerb = Verb{
	Name: "fillna", Params: []string{"rows", "value"},
	Summary: "The column or table with missing cells set to a value.",
	Source:  "fillna(value) of pandas.Series and pandas.DataFrame",
	Func: func(rows Rows, v table.Value) (Rows, error) {
		switch r := rows.(type) {
		case ColumnRows:
			return ColumnRows{fillMissing(r.Column, v)}, nil
		case TableRows:
			t, err := table.New(table.Collect(len(r.Columns()), func(i int) *table.Column { return fillMissing(r.Columns()[i], v) })...)
			return TableRows{t}, err
		}
		return nil, fmt.Errorf("fillna works on a column or a table")
	},
}

func fillMissing(c *table.Column, v table.Value) *table.Column {
	if c.MissingCount() == 0 {
		return c
	}
	cells := c.Values()
	for i := range cells {
		if cells[i].IsMissing() {
			cells[i] = v
		}
	}
	if c.Kind() == table.Float64 && v.Kind() != table.Bool && isNumeric(v.Kind()) {
		return table.FromKind(c.Name(), table.Float64, cells)
	}
	return table.FromValues(c.Name(), cells)
}

var oneHotVerb = Verb{
	Name: "one_hot", Params: []string{"table", "column", "classes"},
	Summary: "The table with the column replaced by a last column per class, in their order: 1 where the cell is the class, else 0.",
	Source:  "pandas.get_dummies with a fixed class list",
	Func: func(t *table.Table, column string, classes []string) (*table.Table, error) {
		c, err := t.Column(column)
		if err != nil {
			return nil, err
		}
		return hot(t, column, classes, func(i int) []string {
			if c.IsMissing(i) {
				return nil
			}
			return []string{c.Text(i)}
		})
	},
}

var mapValuesVerb = Verb{
	Name: "map", Params: []string{"column", "from", "to"},
	Summary: "The column with cells equal to the n-th value of from replaced by the n-th of to.",
	Detail:  "Each cell is replaced once; one not in from becomes missing. The last of equal values of from counts.",
	Source:  "pandas.Series.map(dict(zip(from, to)))",
	Func: func(c *table.Column, from, to []table.Value) (*table.Column, error) {
		if len(from) != len(to) {
			return nil, fmt.Errorf("map: from has %d values, to has %d", len(from), len(to))
		}
		places, by := placesOf(from, c)
		return table.FromValues(c.Name(), table.Collect(c.Len(), func(i int) (v table.Value) {
			if k, ok := places[by.Key(c.Value(i))]; ok {
				v = to[k]
			}
			return v
		})), nil
	},
}

// placesOf returns the last place of each of the values, and how to look cells of
// the column up in them, as pandas finds them in an index: numbers as floats if
// those of one side are, and booleans nowhere among numbers.
func placesOf(from []table.Value, c *table.Column) (map[table.Value]int, table.Lookup) {
	var distinct []table.Value
	last := map[table.Value]int{}
	for i, v := range from {
		if _, seen := last[v.Exact()]; !seen {
			distinct = append(distinct, v)
		}
		last[v.Exact()] = i
	}
	of, in := typeOf(c), typeOf(table.FromValues("", distinct))
	places, by := map[table.Value]int{}, table.Lookup{Floats: of.IsNumber() && in.IsNumber() && (of == table.Float64 || in == table.Float64)}
	if of == table.Bool && in.IsNumber() || of.IsNumber() && in == table.Bool {
		return places, by
	}
	for _, v := range distinct {
		places[by.Key(v)] = last[v.Exact()]
	}
	return places, by
}

var joinVerb = Verb{
	Name: "join_on", Params: []string{"left", "right", "columns"},
	Summary: "The left table with the right one's other columns, matched by the cells in the columns (a name or list).",
	Detail:  "The left order stays. A row without a match gets missing cells; one with several is repeated for each, in the right order. Missing cells match each other. A new column that the left table has is an error.",
	Source:  "pandas.merge(left, right, on=columns, how=\"left\")",
	Func:    joinOn,
}

func joinOn(left, right *table.Table, columns []string) (*table.Table, error) {
	lc, err := left.Select(columns...)
	if err != nil {
		return nil, err
	}
	rc, err := right.Select(columns...)
	if err != nil {
		return nil, err
	}
	both := make([]stacked, len(columns))
	for k := range both {
		if both[k] = (stacked{rc.Columns()[k], lc.Columns()[k]}); table.LookupIn(both[k].upper.Kind(), both[k].lower.Kind()).Floats {
			both[k] = stacked{upper: table.FromFloats("", both[k].upper.Floats()), lower: table.FromFloats("", both[k].lower.Floats())} // as pandas merges them
		}
	}
	codes, count := codesOf(true, both...)
	partners := rowsByCode(codes[:right.Len()], count)
	var rowsLeft, rowsRight []int
	for i, code := range codes[right.Len():] {
		found := partners[code]
		if len(found) == 0 {
			found = []int{-1}
		}
		for _, j := range found {
			rowsLeft, rowsRight = append(rowsLeft, i), append(rowsRight, j)
		}
	}
	rest, err := right.Drop(columns...)
	if err != nil {
		return nil, err
	}
	for _, name := range rest.Names() {
		if left.Has(name) {
			return nil, fmt.Errorf("join_on: both tables have a column %q; drop or rename one", name)
		}
	}
	return left.Take(rowsLeft).With(rest.Take(rowsRight).Columns()...)
}

// stacked are two columns, one below the other.
type stacked struct{ upper, lower *table.Column }

func (s stacked) Len() int { return s.upper.Len() + s.lower.Len() }

func (s stacked) Value(i int) table.Value {
	if n := s.upper.Len(); i >= n {
		return s.lower.Value(i - n)
	}
	return s.upper.Value(i)
}

// sequenceOptions are the options of sequence.
type sequenceOptions struct {
	Start int `verb:"start"`
}

var sequenceVerb = Verb{
	Name: "sequence", Params: []string{"rows", "options"},
	Summary: "An integer for each row: 0, 1, 2, …, or from start.",
	Func: func(rows Rows, o *sequenceOptions) *table.Column {
		return table.FromInts("sequence", table.Collect(rows.Len(), func(i int) int64 { return int64(o.Start + i) }))
	},
}

var numberGroupsVerb = Verb{
	Name: "ngroup", Params: []string{"column", "options"},
	Summary: "The number of each row's group, all rows with its cell: 0 for the smallest cell, 1 for the next, …",
	Detail:  "sort = false numbers by first appearance. Missing cells are one group, sorted last.",
	Source:  "column.groupby(column, sort=, dropna=False).ngroup()",
	Func: func(c *table.Column, o *groupOptions) *table.Column {
		codes, count := codesOf(true, c)
		if !isFalse(o.Sort) {
			sortCodes(codes, count, c)
		}
		return table.FromInts(c.Name(), table.Collect(c.Len(), func(i int) int64 { return int64(codes[i]) }))
	},
}

// sortCodes renumbers the codes of a column in the order of its cells.
func sortCodes(codes []int, count int, c *table.Column) {
	groups := rowsByCode(codes, count)
	slices.SortFunc(groups, func(a, b []int) int { return compareValues(c.Value(a[0]), c.Value(b[0])) })
	for code, rows := range groups {
		for _, i := range rows {
			codes[i] = code
		}
	}
}

var countWithinVerb = Verb{
	Name: "cumcount", Params: []string{"column", "options"},
	Summary: "For each row, how many earlier rows have its cell, from 0 or start.",
	Source:  "pandas.Series.groupby.cumcount",
	Func: func(c *table.Column, o *sequenceOptions) *table.Column {
		codes, count := codesOf(true, c)
		next := make([]int64, count)
		out := make([]int64, c.Len())
		for i, code := range codes {
			out[i] = int64(o.Start) + next[code]
			next[code]++
		}
		return table.FromInts(c.Name(), out)
	},
}

// randomOptions are the options of random_integers.
type randomOptions struct {
	RandomState int `verb:"random_state"`
}

var randomIntegersVerb = Verb{
	Name: "random_integers", Params: []string{"rows", "low", "high", "options"},
	Summary: "A random integer for each row, from low up to but not including high.",
	Source:  "numpy.random.RandomState(random_state).randint(low, high, size=n)",
	Func: func(rows Rows, low, high int, o *randomOptions) (*table.Column, error) {
		out, err := random.NewRandomState(uint32(o.RandomState)).Integers(int64(low), int64(high), rows.Len())
		if err != nil {
			return nil, fmt.Errorf("random_integers: %w", err)
		}
		return table.FromInts("random", out), nil
	},
}

var crossVerb = Verb{
	Name: "cross", Params: []string{"table", "column", "values"},
	Summary: "Every row with each of the values in a new last column: the first row with all values, then the second, …",
	Source:  "pandas.merge(table, values, how=\"cross\")",
	Func: func(t *table.Table, column string, values []table.Value) (*table.Table, error) {
		rows := make([]int, 0, t.Len()*len(values))
		cells := make([]table.Value, 0, cap(rows))
		for i := range t.Len() {
			for _, v := range values {
				rows, cells = append(rows, i), append(cells, v)
			}
		}
		return t.Take(rows).With(table.FromValues(column, cells))
	},
}
