package transform

import (
	"fmt"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var positionsVerb = Verb{
	Name: "positions", Params: []string{"column", "values"},
	Summary: "For each of the values (a column or list), the position of its cell in the column, from 0.",
	Detail:  "Of equals the last counts. A value not in the column is an error.",
	Source:  "[{cell: i for i, cell in enumerate(column)}[value] for value in values]",
	Func: func(c *table.Column, values []table.Value) (*table.Column, error) {
		at := make(map[table.Value]int, c.Len())
		for i := range c.Len() {
			at[c.Value(i).Exact()] = i
		}
		out := make([]int64, len(values))
		for i, v := range values {
			row, ok := at[v.Exact()]
			if !ok {
				return nil, fmt.Errorf("positions: no cell of column %q equals %q, the value of row %d", c.Name(), v, i)
			}
			out[i] = int64(row)
		}
		return table.FromInts("position", out), nil
	},
}

var cumulativeSumVerb = Verb{
	Name: "cumsum", Params: []string{"column"},
	Summary: "The cumulative sum of a column of numbers.",
	Detail:  "Integers and booleans give integers. Missing cells stay and are skipped.",
	Source:  "pandas.Series.cumsum",
	Func: func(c *table.Column) (*table.Column, error) {
		switch c.Kind() {
		case table.Int64, table.Bool:
			if c.MissingCount() == 0 {
				return table.FromInts(c.Name(), sums(c.Ints())), nil
			}
		case table.Uint64:
			return table.FromUints(c.Name(), sums(c.Uints())), nil
		case table.Float64:
			return sumFloats(c), nil
		}
		return nil, fmt.Errorf("cumsum works on a column of numbers, not on %s cells", c.Kind())
	},
}

func sums[T int64 | uint64](cells []T) []T {
	out := make([]T, len(cells))
	var sum T
	for i, v := range cells {
		sum += v
		out[i] = sum
	}
	return out
}

func sumFloats(c *table.Column) *table.Column {
	out := make([]float64, c.Len())
	sum := 0.0
	for i := range out {
		if out[i] = c.Float(i); !c.IsMissing(i) {
			sum += out[i]
			out[i] = sum
		}
	}
	return table.FromFloats(c.Name(), out)
}
