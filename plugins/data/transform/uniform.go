package transform

import (
	"fmt"
	"strings"
	"time"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/numeric/random"
)

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
