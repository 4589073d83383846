package table

import (
	"fmt"
	"math"
)

// ToNumeric returns a column of strings, or of strings and numbers, as the
// numbers that pandas.to_numeric reads in them; other columns it returns as
// they are. Texts are read by pandas' fast parser. Integers stay integers if
// all cells are, unless some are negative and others beyond int64: such a
// column stays as it is. A missing cell and the empty text are NaN. An error
// names the first cell that pandas refuses: no number, or an integer that
// neither int64 nor uint64 holds.
func (c *Column) ToNumeric() (*Column, error) {
	if c.kind != Text && c.kind != Mixed {
		return c, nil
	}
	r := numericReader{floats: make([]float64, c.n), ints: make([]uint64, c.n)}
	for i := range c.n {
		if what := r.add(i, c.Value(i)); what != "" {
			return nil, fmt.Errorf("row %d: %.40q %s", i+1, c.Text(i), what)
		}
	}
	switch {
	case r.fraction:
		return FromFloats(c.name, r.floats), nil
	case r.large && r.negative:
		return c, nil
	case r.large:
		return FromUints(c.name, r.ints), nil
	}
	ints := make([]int64, c.n)
	for i, v := range r.ints {
		ints[i] = int64(v)
	}
	return FromInts(c.name, ints), nil
}

// numericReader collects the cells of a column as doubles and as 64 bits.
type numericReader struct {
	floats                    []float64
	ints                      []uint64
	fraction, large, negative bool // some cell is not an integer, is beyond int64, is negative
}

// add adds cell i and returns the mistake in it; "" if there is none.
func (r *numericReader) add(i int, v Value) string {
	r.floats[i] = v.Float()
	switch v.Kind() {
	case Int64, Uint64, Bool:
		r.whole(i, uint64(v.Int()), v.Kind() != Uint64 && v.Int() < 0)
		return ""
	case Text:
		return r.text(i, []byte(v.String()))
	}
	r.fraction = true // Missing cells are NaN already.
	return ""
}

func (r *numericReader) whole(i int, bits uint64, negative bool) {
	r.ints[i] = bits
	r.negative = r.negative || negative
	r.large = r.large || !negative && bits > math.MaxInt64
}

func (r *numericReader) text(i int, b []byte) string {
	if len(b) == 0 {
		r.floats[i], r.fraction = math.NaN(), true
		return ""
	}
	f, whole, ok := parseFast(b)
	switch {
	case !ok:
		return "is not a number"
	case !whole:
		r.floats[i], r.fraction = f, true
		return ""
	}
	r.floats[i] = f
	if n, res := parseInt(b); res == okay {
		r.whole(i, uint64(n), n < 0)
		return ""
	}
	u, negative, res := parseUint(b)
	if res != okay || negative {
		return "is an integer beyond 64 bits"
	}
	r.whole(i, u, false)
	return ""
}
