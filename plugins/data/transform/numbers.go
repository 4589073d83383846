package transform

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/numeric/random"
)

var countVerb = Verb{
	Name: "length", Params: []string{"rows"},
	Summary: "The number of rows, also of a column; characters gives the length of each string.",
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

var idxmaxVerb = Verb{
	Name: "idxmax", Params: []string{"table"},
	Summary: "For each row of numbers, the name of the column with the greatest cell.",
	Detail:  "Of equals the first counts. Missing counts as minus infinity; a row without cells gives a missing one. Cells compare as integers if all columns hold integers of one type, else as floats.",
	Source:  "pandas.DataFrame.idxmax(axis=1)",
	Func:    idxmax,
}

func idxmax(t *table.Table) (*table.Column, error) {
	whole := true
	for _, c := range t.Columns() {
		if !isNumeric(c.Kind()) && c.Len() > 0 {
			return nil, fmt.Errorf("idxmax: column %q holds %s cells, not numbers", c.Name(), c.Kind())
		}
		whole = whole && c.Kind() == t.Columns()[0].Kind() && (c.Kind() == table.Int64 || c.Kind() == table.Uint64)
	}
	greater := func(x, y table.Value) bool { return orLeast(x) > orLeast(y) }
	if whole {
		greater = func(x, y table.Value) bool { return x.Compare(y) > 0 }
	}
	names := make([]table.Value, t.Len())
	for i := range names {
		best := 0
		some := false
		for k, c := range t.Columns() {
			some = some || !c.IsMissing(i)
			if greater(c.Value(i), t.Columns()[best].Value(i)) {
				best = k
			}
		}
		if some {
			names[i] = table.TextValue(t.Columns()[best].Name())
		}
	}
	return table.FromValues("idxmax", names), nil
}

// orLeast returns a cell as a float, a missing one as less than any number.
func orLeast(v table.Value) float64 {
	if v.IsMissing() {
		return math.Inf(-1)
	}
	return v.Float()
}

var linspaceVerb = Verb{
	Name: "linspace", Params: []string{"rows", "start", "stop"},
	Summary: "A float for each row, evenly spaced from start to stop, both included.",
	Detail:  "One row gets start.",
	Source:  "numpy.linspace(start, stop, num=n)",
	Func: func(rows Rows, start, stop float64) *table.Column {
		n := rows.Len()
		out := make([]float64, n)
		if n == 1 {
			out[0] = start
		}
		delta, gaps := stop-start, float64(n-1)
		step := delta / gaps
		for i := range out[:max(0, n-1)] {
			at := float64(float64(i) * step)
			if step == 0 { // so small a distance that it must not be divided first
				at = float64(float64(i) / gaps * delta)
			}
			out[i] = at + start
		}
		if n > 1 {
			out[n-1] = stop
		}
		return table.FromFloats("linspace", out)
	},
}

var randomUniformVerb = Verb{
	Name: "random_uniform", Params: []string{"rows", "low", "high", "options"},
	Summary: "A random float for each row, from low up to but not including high.",
	Detail:  "random_state is the seed (0).",
	Source:  "numpy.random.default_rng(random_state).uniform(low, high, size=n)",
	Func: func(rows Rows, low, high float64, o *randomOptions) (*table.Column, error) {
		if o.RandomState < 0 {
			return nil, fmt.Errorf("random_uniform: random_state %d is negative", o.RandomState)
		}
		g := random.NewGenerator(uint64(o.RandomState))
		return table.FromFloats("random", table.Collect(rows.Len(), func(int) float64 { return g.Uniform(low, high) })), nil
	},
}

var roundVerb = Verb{
	Name: "round", Params: []string{"number", "decimals"},
	Summary: "Floats rounded to decimals as by numpy: multiplied by a power of ten, rounded half to even, divided.",
	Detail:  "Integers and missing cells stay.",
	Source:  "numpy.round(number, decimals)",
	Func: func(o Operand, decimals int) (Operand, error) {
		if decimals < 0 || decimals > 22 {
			return o, fmt.Errorf("round: decimals = %d is not between 0 and 22", decimals)
		}
		rounded := func(v float64) float64 { return metric.RoundNumpy(v, decimals) }
		switch c := o.Column; {
		case c == nil && o.Value.Kind() == table.Float64:
			return Operand{Value: table.FloatValue(rounded(o.Value.Float()))}, nil
		case c == nil && !isNumeric(o.Value.Kind()) && !o.Value.IsMissing():
			return o, fmt.Errorf("round: %q is not a number", o.Value)
		case c == nil:
			return o, nil
		case !isNumeric(c.Kind()):
			return o, fmt.Errorf("round: column %q holds %s cells, not numbers", c.Name(), c.Kind())
		case c.Kind() != table.Float64:
			return o, nil
		default:
			return Operand{Column: table.FromFloats(c.Name(), table.Collect(c.Len(), func(i int) float64 { return rounded(c.Float(i)) }))}, nil
		}
	},
}

var dateOrdinalVerb = Verb{
	Name: "date_ordinal", Params: []string{"string"},
	Summary: "Dates such as 2020-09-22 as days since the year 0 (1 is 0001-01-01).",
	Detail:  "Another format or a missing cell is an error.",
	Source:  "datetime.date.fromisoformat(text).toordinal()",
	Func: func(c *table.Column) (*table.Column, error) {
		out := make([]int64, c.Len())
		last, lastDay := "", int64(0)
		for i := range out {
			s := c.Text(i)
			if s != last {
				day, err := ordinal(s)
				if err != nil {
					return nil, fmt.Errorf("date_ordinal: row %d of column %q: %w", i, c.Name(), err)
				}
				last, lastDay = strings.Clone(s), day
			}
			if out[i] = lastDay; s == "" {
				return nil, fmt.Errorf("date_ordinal: row %d of column %q is missing", i, c.Name())
			}
		}
		return table.FromInts(c.Name(), out), nil
	},
}

// ordinal returns the number of days from the last day before the year 1.
func ordinal(date string) (int64, error) {
	const epoch = 719163 // of 1970-01-01
	t, err := time.Parse(time.DateOnly, date)
	if err != nil || t.Year() < 1 {
		return 0, fmt.Errorf("%q is not a date such as 2020-09-22", date)
	}
	return t.Unix()/86400 + epoch, nil
}
