package table

// Ints returns all cells as Int does. The slice must not be changed.
func (c *Column) Ints() []int64 {
	return bulk(c, Int64, func(v *vector) []int64 { return v.ints }, 0, (*Column).Int)
}

// uints returns all cells as unsigned integers, negative ones wrapped. The
// slice must not be changed.
func (c *Column) uints() []uint64 {
	return bulk(c, Uint64, func(v *vector) []uint64 { return v.uints }, 0,
		func(c *Column, i int) uint64 { return uint64(c.Int(i)) })
}

// Floats returns all cells as Float does. The slice must not be changed.
func (c *Column) Floats() []float64 {
	if c.kind == Int64 {
		return bulk(c, Float64, nil, nan(), intAsFloat)
	}
	return bulk(c, Float64, func(v *vector) []float64 { return v.floats }, nan(), (*Column).Float)
}

func intAsFloat(c *Column, i int) float64 {
	v, r := c.at(i)
	if r < 0 {
		return nan()
	}
	return float64(v.ints[r])
}

// Texts returns all cells as Text does; the strings of a Text column share its
// memory.
func (c *Column) Texts() []string {
	return bulk(c, Text, nil, "", (*Column).Text)
}

// Values returns all cells.
func (c *Column) Values() []Value {
	return bulk(c, Mixed, nil, Value{}, (*Column).Value)
}

// bulk returns all cells as a slice: the stored one of a plain column of the
// given kind in one vector, otherwise a new one.
func bulk[T any](c *Column, kind Kind, stored func(*vector) []T, missing T, cell func(*Column, int) T) []T {
	if c.kind != kind || stored == nil {
		out := make([]T, c.n)
		for i := range out {
			out[i] = cell(c, i)
		}
		return out
	}
	if c.rows != nil {
		return gather(c, stored, missing)
	}
	lo, hi := c.lo, c.lo+c.n
	if hi == lo {
		return []T{}
	}
	if first := lo >> c.shift; first == (hi-1)>>c.shift {
		base := first << c.shift
		return stored(c.parts[first])[lo-base : hi-base : hi-base]
	}
	out := make([]T, 0, c.n)
	for at := lo; at < hi; {
		base := at >> c.shift << c.shift
		end := min(hi, base+1<<c.shift)
		out = append(out, stored(c.parts[at>>c.shift])[at-base:end-base]...)
		at = end
	}
	return out
}

// gather returns the stored values at the column's row numbers.
func gather[T any](c *Column, stored func(*vector) []T, missing T) []T {
	data := make([][]T, len(c.parts))
	for i, v := range c.parts {
		data[i] = stored(v)
	}
	out := make([]T, c.n)
	mask := int32(1)<<c.shift - 1
	for i, r := range c.rows {
		if r >= 0 {
			out[i] = data[r>>c.shift][r&mask]
		} else {
			out[i] = missing
		}
	}
	return out
}
