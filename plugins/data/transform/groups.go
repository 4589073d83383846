package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// groupOptions are the options of group_first and group_join.
type groupOptions struct {
	Sort *bool `verb:"sort"`
}

var groupFirstVerb = Verb{
	Name: "group_first", Params: []string{"table", "columns", "options"},
	Summary: "A row for each group with the same cells in the columns (a name or list): those cells, then the first cell that is not missing of each other column.",
	Detail:  "Groups are sorted by their columns; sort = false keeps the order of first appearance. Rows with a missing cell there are left out.",
	Source:  "table.groupby(columns, sort=).first().reset_index()",
	Func: func(t *table.Table, columns []string, o *groupOptions) (*table.Table, error) {
		keys, err := t.Select(columns...)
		if err != nil {
			return nil, err
		}
		rest, err := t.Drop(columns...)
		if err != nil {
			return nil, err
		}
		groups := groupRows(keys, !isFalse(o.Sort))
		firsts := lists.Of(rest.Columns(), func(c *table.Column) *table.Column { return takeColumn(c, firstPresent(c, groups)) })
		return table.New(slices.Concat(keys.Take(firstOf(groups)).Columns(), firsts)...)
	},
}

// firstOf returns the first row of every group.
func firstOf(groups [][]int) []int { return lists.Of(groups, func(rows []int) int { return rows[0] }) }

// firstPresent returns, for every group, the row of its first cell that is not
// missing, or its first row where all are.
func firstPresent(c *table.Column, groups [][]int) []int {
	return lists.Of(groups, func(rows []int) int {
		return rows[max(slices.IndexFunc(rows, func(i int) bool { return !c.IsMissing(i) }), 0)]
	})
}

var groupJoinVerb = Verb{
	Name: "group_join", Params: []string{"table", "columns", "column", "separator", "options"},
	Summary: "A row for each group with the same cells in the columns (a name or list): those cells, and the cells of column as strings, joined by the separator in order.",
	Detail:  "Numbers are formatted as by Python, groups sorted and left out as in group_first. Joining a missing cell is an error.",
	Source:  "table.groupby(columns, sort=)[column].agg(separator.join).reset_index()",
	Func: func(t *table.Table, columns []string, column, separator string, o *groupOptions) (*table.Table, error) {
		keys, err := t.Select(columns...)
		if err != nil {
			return nil, err
		}
		c, err := t.Column(column)
		if err != nil {
			return nil, err
		}
		groups := groupRows(keys, !isFalse(o.Sort))
		texts := make([]string, len(groups))
		var buf strings.Builder
		for g, rows := range groups {
			buf.Reset()
			for n, i := range rows {
				if c.IsMissing(i) {
					return nil, fmt.Errorf("group_join: column %q is missing in row %d; use fillna first", column, i)
				}
				if n > 0 {
					buf.WriteString(separator)
				}
				buf.WriteString(c.Text(i))
			}
			texts[g] = buf.String()
		}
		return keys.Take(firstOf(groups)).With(table.FromTexts(column, texts, nil))
	},
}

// groupRows returns the rows of every group of equal keys, each in the order of
// the table, without the rows that miss a key. Groups come sorted by their
// keys, or in order of first appearance.
func groupRows(keys *table.Table, sorted bool) [][]int {
	groups := rowsByCode(codesOf(false, keys.Columns()...))
	if sorted {
		slices.SortStableFunc(groups, func(a, b []int) int {
			for _, c := range keys.Columns() {
				if d := compareValues(c.Value(a[0]), c.Value(b[0])); d != 0 {
					return d
				}
			}
			return 0
		})
	}
	return groups
}

// cells are a column, or stacked ones.
type cells interface {
	Len() int
	Value(i int) table.Value
}

// codesOf numbers the combinations of the cells of columns of one length in
// order of first appearance. A row with a missing cell has the code -1, unless
// missing cells count as equal.
func codesOf[C cells](missing bool, columns ...C) (codes []int, count int) {
	for k, c := range columns {
		if k == 0 {
			codes = make([]int, c.Len())
		}
		n := numbering{low: make([]int32, len(codes))}
		ints := intsOf(c)
		for i, before := range codes {
			if before < 0 {
				continue
			}
			if ints != nil {
				codes[i] = n.ofInt(before, ints[i])
			} else if v := c.Value(i); missing || !v.IsMissing() {
				codes[i] = n.of(before, v)
			} else {
				codes[i] = -1
			}
		}
		count = n.count
	}
	return codes, count
}

// intsOf returns the cells of a column of integers, nil for other cells.
func intsOf(c cells) []int64 {
	if c, ok := c.(*table.Column); ok && c.Kind() == table.Int64 {
		return c.Ints()
	}
	return nil
}

// pair is a code and a cell of the next column.
type pair[T comparable] struct {
	before int
	cell   T
}

// numbering numbers pairs in order of first appearance; integers, of which
// there may be millions, are found fast.
type numbering struct {
	low   []int32 // by integer, of pairs with the code 0: 1 + their number, or 0
	whole known[int64]
	other known[table.Value]
	count int
}

// of returns the number of a pair, a new one if it has none.
func (n *numbering) of(before int, v table.Value) int {
	k := v.Exact()
	if k.Kind() == table.Int64 {
		return n.ofInt(before, k.Int())
	}
	return n.other.of(pair[table.Value]{before, k}, &n.count)
}

func (n *numbering) ofInt(before int, v int64) int {
	if before > 0 || uint64(v) >= uint64(len(n.low)) {
		return n.whole.of(pair[int64]{before, v}, &n.count)
	}
	if n.low[v] == 0 {
		n.count++
		n.low[v] = int32(n.count)
	}
	return int(n.low[v]) - 1
}

// known are the numbers of some pairs.
type known[T comparable] struct {
	seen map[pair[T]]int
	last pair[T] // rows of a group often follow one another
	code int     // of last
}

// of returns the number of a pair, *next if it is new.
func (n *known[T]) of(p pair[T], next *int) int {
	if n.seen == nil {
		n.seen = map[pair[T]]int{}
	} else if p == n.last {
		return n.code
	}
	code, ok := n.seen[p]
	if !ok {
		code = *next
		n.seen[p] = code
		*next++
	}
	n.last, n.code = p, code
	return code
}

// sizes returns how many rows have each code.
func sizes(codes []int, count int) []int {
	out := make([]int, count)
	for _, code := range codes {
		if code >= 0 {
			out[code]++
		}
	}
	return out
}

// rowsByCode returns the rows of each code, in their order. All share one
// backing array.
func rowsByCode(codes []int, count int) [][]int {
	all, out := make([]int, len(codes)), make([][]int, count)
	start := 0
	for code, n := range sizes(codes, count) {
		out[code] = all[start : start : start+n]
		start += n
	}
	for i, code := range codes {
		if code >= 0 {
			out[code] = append(out[code], i)
		}
	}
	return out
}

var groupSizeVerb = Verb{
	Name: "group_size", Params: []string{"column"},
	Summary: "The size of each row's group, all rows with its cell.",
	Detail:  "Missing cells are one group.",
	Source:  "column.groupby(column, dropna=False).transform(\"size\")",
	Func: func(c *table.Column) *table.Column {
		codes, count := codesOf(true, c)
		size := sizes(codes, count)
		return table.FromInts(c.Name(), table.Collect(c.Len(), func(i int) int64 { return int64(size[codes[i]]) }))
	},
}

var sampleEachVerb = Verb{
	Name: "sample_each", Params: []string{"table", "column", "options"},
	Summary: "Rows drawn without replacement from each group with the same cell in the column, in order of first appearance, then of the draw.",
	Detail:  "Options are those of sample, the seed again for every group. Rows with a missing cell are left out.",
	Source:  "pandas.concat([group.sample(n=, frac=, random_state=) for _, group in table.groupby(column, sort=False)])",
	Func: func(t *table.Table, column string, o *sampleOptions) (*table.Table, error) {
		keys, err := t.Select(column)
		if err != nil {
			return nil, err
		}
		var at []int
		for _, rows := range groupRows(keys, false) {
			drawn, err := o.draw(len(rows))
			if err != nil {
				return nil, fmt.Errorf("sample_each: group %s: %w", keys.Columns()[0].Text(rows[0]), err)
			}
			at = append(at, taken(rows, drawn)...)
		}
		return t.Take(at), nil
	},
}

var firstFitVerb = Verb{
	Name: "first_fit", Params: []string{"column", "size"},
	Summary: "A boolean column: whether a row is among the at most size rows taken group by group.",
	Detail:  "A group is all rows with one cell, missing included. Groups are taken whole, in order of first appearance; one that would exceed size is skipped.",
	Func: func(c *table.Column, size int) (*table.Column, error) {
		if size < 0 {
			return nil, fmt.Errorf("first_fit: size %d is negative", size)
		}
		keys, n := codesOf(true, c)
		count := sizes(keys, n)
		fits := make([]bool, len(count))
		for k, n := range count {
			if fits[k] = n <= size; fits[k] {
				size -= n
			}
		}
		return table.FromBools(c.Name(), taken(fits, keys), nil), nil
	},
}

var explodeWordsVerb = Verb{
	Name: "explode_words", Params: []string{"table", "column", "names"},
	Summary: "The table with a column of strings split at white space into new last columns, names: a row for every len(names) words, other cells repeated.",
	Detail:  "Order stays. A string without words gives no row. A missing string, or words that do not fill a row, are errors.",
	Source:  "string.split(), words[k::n] for k in range(n)",
	Func:    explodeWords,
}

func explodeWords(t *table.Table, column string, names []string) (*table.Table, error) {
	c, err := t.Column(column)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("explode_words: name at least one new column")
	}
	var rows []int
	cells := make([][]string, len(names))
	for i := range c.Len() {
		if c.IsMissing(i) || c.Kind() != table.Text {
			return nil, fmt.Errorf("explode_words: row %d of column %q is not a string", i, column)
		}
		words := pytext.Fields(c.Text(i))
		if len(words)%len(names) != 0 {
			return nil, fmt.Errorf("explode_words: row %d of column %q has %d words, which is not a multiple of %d", i, column, len(words), len(names))
		}
		for k, word := range words {
			cells[k%len(names)] = append(cells[k%len(names)], word)
		}
		rows = append(rows, slices.Repeat([]int{i}, len(words)/len(names))...)
	}
	return replaced(t.Take(rows), column, table.Collect(len(names), func(k int) *table.Column { return table.FromTexts(names[k], cells[k], nil) }))
}

// replaced returns the table with columns at its end in place of one.
func replaced(t *table.Table, column string, by []*table.Column) (*table.Table, error) {
	rest, err := t.Drop(column)
	if err != nil {
		return nil, err
	}
	return table.New(slices.Concat(rest.Columns(), by)...)
}

var multiHotVerb = Verb{
	Name: "multi_hot", Params: []string{"table", "column", "classes", "separator"},
	Summary: "The table with a column that lists classes replaced by a last column per class, in their order: 1 where the string, split at every separator, has the class, else 0.",
	Detail:  "Items are not trimmed, other items ignored; a missing string has no class.",
	Source:  "table[column].str.get_dummies(sep=separator).reindex(columns=classes, fill_value=0)",
	Func: func(t *table.Table, column string, classes []string, separator string) (*table.Table, error) {
		c, err := t.Column(column)
		if err != nil {
			return nil, err
		}
		if separator == "" {
			return nil, fmt.Errorf("multi_hot: the separator is empty")
		}
		return hot(t, column, classes, func(i int) []string {
			if c.IsMissing(i) {
				return nil
			}
			return strings.Split(c.Text(i), separator)
		})
	},
}

// hot replaces a column by one of zeros and ones for each class.
func hot(t *table.Table, column string, classes []string, classesOf func(row int) []string) (*table.Table, error) {
	place := map[string]int{}
	flags := make([][]int64, len(classes))
	for k, class := range classes {
		place[class] = k
		flags[k] = make([]int64, t.Len())
	}
	for i := range t.Len() {
		for _, class := range classesOf(i) {
			if k, ok := place[class]; ok {
				flags[k][i] = 1
			}
		}
	}
	return replaced(t, column, table.Collect(len(classes), func(k int) *table.Column { return table.FromInts(classes[k], flags[k]) }))
}
