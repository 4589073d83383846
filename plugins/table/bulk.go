package table

import "math"

// Ints returns all cells as Int does. The slice must not be changed.
func (c *Column) Ints() []int64 {
	if c.kind == Int64 && c.plain() {
		return c.ints[c.lo : c.lo+c.n : c.lo+c.n]
	}
	out := make([]int64, c.n)
	for i := range out {
		out[i] = c.Int(i)
	}
	return out
}

// Floats returns all cells as Float does. The slice must not be changed.
func (c *Column) Floats() []float64 {
	if c.kind == Float64 && c.plain() {
		return c.floats[c.lo : c.lo+c.n : c.lo+c.n]
	}
	out := make([]float64, c.n)
	switch c.kind {
	case Float64:
		gather(out, c.floats, c.rows, math.NaN())
	case Int64:
		for i := range out {
			if r := c.at(i); r >= 0 {
				out[i] = float64(c.ints[r])
			} else {
				out[i] = math.NaN()
			}
		}
	default:
		for i := range out {
			out[i] = c.Float(i)
		}
	}
	return out
}

// Bools returns all cells as Bool does.
func (c *Column) Bools() []bool {
	out := make([]bool, c.n)
	for i := range out {
		out[i] = c.Bool(i)
	}
	return out
}

// Texts returns all cells as Text does; the texts of a Text column share its
// memory.
func (c *Column) Texts() []string {
	out := make([]string, c.n)
	for i := range out {
		out[i] = c.Text(i)
	}
	return out
}

// Values returns all cells.
func (c *Column) Values() []Value {
	out := make([]Value, c.n)
	for i := range out {
		out[i] = c.Value(i)
	}
	return out
}

func gather[T any](out, from []T, rows []int32, missing T) {
	for i, r := range rows {
		if r >= 0 {
			out[i] = from[r]
		} else {
			out[i] = missing
		}
	}
}
