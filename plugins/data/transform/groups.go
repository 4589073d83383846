package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// groupVerbs work on the groups of a table: the rows with the same cells in
// some columns. The verbs of words and draws that go with them stand in
// words.go and uniform.go.
var groupVerbs = []Verb{
	groupFirstVerb, groupJoinVerb, groupSizeVerb, sampleEachVerb,
	explodeWordsVerb, multiHotVerb,
	linspaceVerb, randomUniformVerb, roundVerb, dateOrdinalVerb,
}

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
		out := keys.Take(firstOf(groups))
		cols := slices.Clone(out.Columns())
		for _, c := range rest.Columns() {
			cols = append(cols, takeColumn(c, firstPresent(c, groups)))
		}
		return table.New(cols...)
	},
}

// firstOf returns the first row of every group.
func firstOf(groups [][]int) []int {
	return table.Collect(len(groups), func(g int) int { return groups[g][0] })
}

// firstPresent returns, for every group, the row of its first cell that is not
// missing, or its first row where all are.
func firstPresent(c *table.Column, groups [][]int) []int {
	at := make([]int, len(groups))
	for g, rows := range groups {
		first := slices.IndexFunc(rows, func(i int) bool { return !c.IsMissing(i) })
		at[g] = rows[max(first, 0)]
	}
	return at
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
			for _, i := range drawn {
				at = append(at, rows[i])
			}
		}
		return t.Take(at), nil
	},
}
