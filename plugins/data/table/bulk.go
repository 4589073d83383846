package table

import (
	"math"
	"slices"
)

// Ints returns all cells as Int does. The slice must not be changed.
func (c *Column) Ints() []int64 {
	return c.IntsInto(nil)
}

// Uints returns all cells as unsigned integers, negative ones wrapped. The
// slice must not be changed.
func (c *Column) Uints() []uint64 { return c.UintsInto(nil) }

// UintsInto is Uints with memory that may be used for the result.
func (c *Column) UintsInto(memory []uint64) []uint64 {
	return bulk(c, memory, cellsOf[uint64]{Uint64, func(v *vector) []uint64 { return v.uints }, 0,
		func(c *Column, i int) uint64 { return uint64(c.Int(i)) }})
}

// IntsInto is Ints with memory that may be used for the result.
func (c *Column) IntsInto(memory []int64) []int64 {
	if c.kind == Int64 && c.narrow(func(v *vector) bool { return v.small != nil }) {
		return spread(c, memory, (*vector).spreadInts, (*vector).int, 0)
	}
	return bulk(c, memory, cellsOf[int64]{Int64, func(v *vector) []int64 { return v.ints }, 0, (*Column).Int})
}

// Floats returns all cells as Float does. The slice must not be changed.
func (c *Column) Floats() []float64 { return c.FloatsInto(nil) }

// FloatsInto is Floats with memory that may be used for the result.
func (c *Column) FloatsInto(memory []float64) []float64 {
	switch {
	case c.kind == Int64:
		return bulk(c, memory, cellsOf[float64]{kind: Float64, cell: intAsFloat})
	case c.kind == Float64 && c.narrow(func(v *vector) bool { return v.decimals != nil }):
		return spread(c, memory, (*vector).spreadFloats, (*vector).float, nan())
	}
	return bulk(c, memory, cellsOf[float64]{Float64, func(v *vector) []float64 { return v.floats }, nan(), (*Column).Float})
}

// narrow reports whether some vector of the column is narrow.
func (c *Column) narrow(is func(*vector) bool) bool { return slices.ContainsFunc(c.parts(), is) }

// spread returns all cells of a column of which some vectors are narrow.
func spread[T any](c *Column, memory []T, all func(v *vector, out []T, lo int), one func(*vector, int) T, missing T) []T {
	out := slices.Grow(memory[:0], c.n)[:c.n]
	parts, mask := c.parts(), 1<<c.shift-1
	if c.rows == nil {
		for at := 0; at < c.n; {
			lo := (c.lo + at) & mask
			end := min(c.n, at+mask+1-lo)
			all(parts[(c.lo+at)>>c.shift], out[at:end], lo)
			at = end
		}
		return out
	}
	for i, r := range c.rows {
		if out[i] = missing; r >= 0 {
			out[i] = one(parts[r>>c.shift], int(r)&mask)
		}
	}
	return out
}

// Bounds returns the least and the greatest cell of a column of numbers if they
// were found when it was read, or less and greater numbers. If ok, no cell is
// missing, and all are finite.
func (c *Column) Bounds() (lo, hi float64, ok bool) {
	if c.kept != nil || c.kind != Float64 || slices.ContainsFunc(c.rows, func(r int32) bool { return r < 0 }) {
		return 0, 0, false
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range c.vecs {
		if !v.bounded {
			return 0, 0, false
		}
		lo, hi = min(lo, v.lo), max(hi, v.hi)
	}
	return lo, hi, len(c.vecs) > 0
}

func intAsFloat(c *Column, i int) float64 {
	v, r := c.at(i)
	if r < 0 {
		return nan()
	}
	return float64(v.int(r))
}

// Texts returns all cells as Text does; the strings of a Text column share its
// memory.
func (c *Column) Texts() []string {
	return bulk(c, nil, cellsOf[string]{cell: (*Column).Text})
}

// Values returns all cells.
func (c *Column) Values() []Value {
	return bulk(c, nil, cellsOf[Value]{cell: (*Column).Value})
}

// cellsOf says how bulk gets at cells: as they are stored in columns of a kind,
// if stored is set, or one by one.
type cellsOf[T any] struct {
	kind    Kind
	stored  func(*vector) []T
	missing T
	cell    func(*Column, int) T
}

// bulk returns all cells as a slice: the stored one of a plain column in one
// vector, otherwise one in memory, if that is large enough, or a new one.
func bulk[T any](c *Column, memory []T, from cellsOf[T]) []T {
	lo, hi, parts := c.lo, c.lo+c.n, c.parts()
	as, plain := from.stored != nil && c.kind == from.kind, c.rows == nil
	if first := lo >> c.shift; as && plain && c.n > 0 && first == (hi-1)>>c.shift {
		base := first << c.shift
		return from.stored(parts[first])[lo-base : hi-base : hi-base]
	}
	if memory == nil || cap(memory) < c.n {
		memory = make([]T, c.n)
	}
	out := memory[:c.n]
	switch {
	case as && plain:
		for at := lo; at < hi; {
			base := at >> c.shift << c.shift
			end := min(hi, base+1<<c.shift)
			copy(out[at-lo:], from.stored(parts[at>>c.shift])[at-base:end-base])
			at = end
		}
	case as:
		gather(c, out, from)
	default:
		for i := range out {
			out[i] = from.cell(c, i)
		}
	}
	return out
}

// gather copies the stored values at the column's row numbers.
func gather[T any](c *Column, out []T, from cellsOf[T]) {
	data := make([][]T, len(c.parts()))
	for i, v := range c.parts() {
		data[i] = from.stored(v)
	}
	mask := int32(1)<<c.shift - 1
	for i, r := range c.rows {
		if r >= 0 {
			out[i] = data[r>>c.shift][r&mask]
		} else {
			out[i] = from.missing
		}
	}
}

// fewRows is how many rows each passes at a time: a power of two, so that those
// of a plain column are in one vector.
const fewRows = 1 << 13

// each passes all cells to do, some thousand at a time, until it returns false.
func each[T any](c *Column, into func(*Column, []T) []T, do func(at int, cells []T) bool) {
	memory := make([]T, 0, min(fewRows, c.n))
	for at := 0; at < c.n && do(at, into(c.Slice(at, min(at+fewRows, c.n)), memory)); at += fewRows {
	}
}

// EachPair passes the cells of two columns of one length to do, some thousand at
// a time, until it returns false. Into is IntsInto, UintsInto or
// FloatsInto.
func EachPair[T any](a, b *Column, into func(*Column, []T) []T, do func(at int, x, y []T) bool) {
	memory := make([]T, 0, min(fewRows, a.n))
	each(a, into, func(at int, x []T) bool { return do(at, x, into(b.Slice(at, at+len(x)), memory)) })
}
