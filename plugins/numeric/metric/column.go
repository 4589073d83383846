package metric

import (
	"math"
	"strconv"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// finiteFloats returns the column as scikit-learn's check_array sees it: as
// doubles, strings by Python's float(), no missing value and no infinity. No
// rows are refused as well.
func finiteFloats(c *table.Column) ([]float64, error) {
	v, err := anyFloats(c)
	if err != nil {
		return nil, err
	}
	if len(v) == 0 {
		return nil, &Unscorable{Column: c.Name(), Reason: "has no rows"}
	}
	if _, _, ok := c.Bounds(); ok {
		return v, nil
	}
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, &Unscorable{Column: c.Name(), Reason: "row " + strconv.Itoa(i+1) + " is missing or not finite"}
		}
	}
	return v, nil
}

// anyFloats returns the column as doubles, NaN where a cell is missing.
func anyFloats(c *table.Column) ([]float64, error) {
	if c.Kind() != table.Text && c.Kind() != table.Mixed {
		return c.Floats(), nil
	}
	out := make([]float64, c.Len())
	for i := range out {
		v := c.Value(i)
		out[i] = v.Float()
		if v.Kind() != table.Text {
			continue
		}
		x, ok := pytext.Float(v.String())
		if !ok {
			return nil, &Unscorable{Column: c.Name(), Reason: "row " + strconv.Itoa(i+1) + ": " + quote(v.String()) + " is not a number"}
		}
		out[i] = x
	}
	return out, nil
}

// numbers is a numeric column as numpy keeps it: integers stay integers.
type numbers struct {
	ints   []int64 // nil unless the column is Int64
	floats []float64
	truths bool // the column is Bool
}

func finiteNumbers(c *table.Column) (numbers, error) {
	if c.Kind() == table.Int64 && c.Len() > 0 {
		return numbers{ints: c.Ints()}, nil
	}
	v, err := finiteFloats(c)
	return numbers{floats: v, truths: c.Kind() == table.Bool}, err
}

// minus returns a-b; two integer columns subtract as integers, wrapping
// around as numpy's do.
func (a numbers) minus(b numbers) numbers {
	if a.ints != nil && b.ints != nil {
		out := make([]int64, len(a.ints))
		for i, x := range a.ints {
			out[i] = x - b.ints[i]
		}
		return numbers{ints: out}
	}
	x, y := a.asFloats(), b.asFloats()
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] - y[i]
	}
	return numbers{floats: out}
}

// meanSquare returns the mean of the squares; those of integers wrap around.
func (a numbers) meanSquare() float64 {
	if a.ints != nil {
		return meanInts(mapped(a.ints, func(x int64) int64 { return x * x }))
	}
	return Mean(mapped(a.floats, func(x float64) float64 { return x * x }))
}

// meanSize returns the mean of the absolute values.
func (a numbers) meanSize() float64 {
	if a.ints != nil {
		return meanInts(mapped(a.ints, func(x int64) int64 { return max(x, -x) }))
	}
	return Mean(mapped(a.floats, math.Abs))
}

func mapped[S, T any](v []S, f func(S) T) []T {
	out := make([]T, len(v))
	for i, x := range v {
		out[i] = f(x)
	}
	return out
}

func (a numbers) asFloats() []float64 {
	if a.ints == nil {
		return a.floats
	}
	return mapped(a.ints, func(x int64) float64 { return float64(x) })
}

// quote shortens and quotes a cell for a message.
func quote(s string) string {
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return strconv.Quote(s)
}
