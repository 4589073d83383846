package transform

import (
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

var countVerb = Verb{
	Name: "length", Params: []string{"rows"},
	Summary: "The number of rows.",
	Func:    func(rows Rows) int { return rows.Len() },
}

var listVerb = Verb{
	Name: "list", Params: []string{"column"},
	Summary: "A column as a list.",
	Func:    func(c *table.Column) []table.Value { return c.Values() },
}

var sumVerb = Verb{
	Name: "sum", Params: []string{"column"},
	Summary: "The sum of numbers; missing cells are skipped.",
	Detail:  "Integers and booleans give an integer. Floats are added in numpy's order.",
	Source:  "pandas.Series.sum",
	Func: func(c *table.Column) (table.Value, error) {
		switch c.Kind() {
		case table.Int64, table.Bool:
			return table.IntValue(sumOf(c.Ints())), nil
		case table.Uint64:
			return table.UintValue(sumOf(c.Uints())), nil
		}
		sum, _, err := total(c)
		return table.FloatValue(sum), err
	},
}

var meanVerb = Verb{
	Name: "mean", Params: []string{"column"},
	Summary: "The mean of numbers; missing cells are skipped.",
	Detail:  "It sums floats as sum does.",
	Source:  "pandas.Series.mean",
	Func: func(c *table.Column) (table.Value, error) {
		sum, n, err := total(c)
		return table.FloatValue(sum / float64(n)), err
	},
}

func sumOf[T int64 | uint64](cells []T) (sum T) {
	for _, v := range cells {
		sum += v
	}
	return sum
}

func total(c *table.Column) (sum float64, n int, err error) {
	if !isNumeric(c.Kind()) {
		return 0, 0, fmt.Errorf("column %q holds %s cells, not numbers", c.Name(), c.Kind())
	}
	cells := c.Floats()
	if c.MissingCount() > 0 {
		cells = slices.Clone(cells)
		for i := range cells {
			if c.IsMissing(i) {
				cells[i] = 0
			}
		}
	}
	return metric.Sum(cells), c.Len() - c.MissingCount(), nil
}

var minimumVerb = Verb{
	Name: "min", Params: []string{"column"},
	Summary: "The smallest cell; missing cells are skipped.",
	Func:    func(c *table.Column) (table.Value, error) { return extreme("min", c, -1) },
}

var maximumVerb = Verb{
	Name: "max", Params: []string{"column"},
	Summary: "The largest cell; missing cells are skipped.",
	Func:    func(c *table.Column) (table.Value, error) { return extreme("max", c, 1) },
}

func extreme(name string, c *table.Column, direction int) (best table.Value, err error) {
	for i := range c.Len() {
		v := c.Value(i)
		if !v.IsMissing() && (best.IsMissing() || compareValues(v, best)*direction > 0) {
			best = v
		}
	}
	if best.IsMissing() {
		err = fmt.Errorf("%s: column %q has no cells", name, c.Name())
	}
	return best, err
}
