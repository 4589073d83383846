package table

import (
	"math"
	"slices"
)

// Ints returns all cells as Int does. The slice must not be changed.
func (c *Column) Ints() []int64 { return c.IntsInto(nil) }

// Uints returns all cells as unsigned integers, negative ones wrapped. The
// slice must not be changed.
func (c *Column) Uints() []uint64 { return c.UintsInto(nil) }

// Floats returns all cells as Float does. The slice must not be changed.
func (c *Column) Floats() []float64 { return c.FloatsInto(nil) }

// IntsInto is Ints with memory that may be used for the result.
func (c *Column) IntsInto(memory []int64) []int64 { return ints.all(c, memory) }

// UintsInto is Uints with memory that may be used for the result.
func (c *Column) UintsInto(memory []uint64) []uint64 { return uints.all(c, memory) }

// FloatsInto is Floats with memory that may be used for the result.
func (c *Column) FloatsInto(memory []float64) []float64 { return floats.all(c, memory) }

// Texts returns all cells as Text does; the strings of a Text column share its
// memory.
func (c *Column) Texts() []string { return Collect(c.n, c.Text) }

// Values returns all cells.
func (c *Column) Values() []Value { return Collect(c.n, c.Value) }

// access is how cells of a type are read: from the vectors of columns of one kind,
// and one by one from other columns.
type access[T any] struct {
	kind    Kind
	stored  func(*vector) []T                // nil of a vector that stores them otherwise
	copy    func(v *vector, out []T, lo int) // from position lo on
	at      func(v *vector, i int) T
	missing T
	cell    func(*Column, int) T
}

var (
	ints = access[int64]{Int64, func(v *vector) []int64 { return v.ints }, (*vector).spreadInts, (*vector).int, 0, (*Column).Int}

	uints = access[uint64]{Uint64, func(v *vector) []uint64 { return v.uints },
		func(v *vector, out []uint64, lo int) { copy(out, v.uints[lo:]) },
		func(v *vector, i int) uint64 { return v.uints[i] }, 0,
		func(c *Column, i int) uint64 { return uint64(c.Int(i)) }}

	floats = access[float64]{Float64, func(v *vector) []float64 { return v.floats }, (*vector).spreadFloats, (*vector).float, nan(),
		func(c *Column, i int) float64 {
			if v, r := c.at(i); c.kind == Int64 && r >= 0 {
				return float64(v.int(r))
			}
			return c.Float(i)
		}}
)

// all returns all cells: the stored slice of a plain column in one vector, otherwise
// one in memory, if that is large enough, or a new one.
func (a access[T]) all(c *Column, memory []T) []T {
	lo, hi, parts, mask := c.lo, c.lo+c.n, c.parts(), 1<<c.shift-1
	plain := c.rows == nil && c.kind == a.kind
	if first := lo >> c.shift; plain && c.n > 0 && first == (hi-1)>>c.shift {
		if v := a.stored(parts[first]); v != nil {
			return v[lo&mask : lo&mask+c.n : lo&mask+c.n]
		}
	}
	if memory == nil || cap(memory) < c.n {
		memory = make([]T, c.n)
	}
	out := memory[:c.n]
	switch {
	case plain:
		for at := lo; at < hi; {
			end := min(hi, at|mask+1)
			a.copy(parts[at>>c.shift], out[at-lo:end-lo], at&mask)
			at = end
		}
	case c.kind == a.kind:
		for i, r := range c.rows {
			if out[i] = a.missing; r >= 0 {
				out[i] = a.at(parts[r>>c.shift], int(r)&mask)
			}
		}
	default:
		for i := range out {
			out[i] = a.cell(c, i)
		}
	}
	return out
}

// Bounds returns the least and the greatest cell of a column of numbers if they
// were found when it was read, or less and greater numbers. If ok, no cell is
// missing, and all are finite.
func (c *Column) Bounds() (lo, hi float64, ok bool) {
	if c.retained != nil || c.kind != Float64 || slices.ContainsFunc(c.rows, func(r int32) bool { return r < 0 }) {
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
