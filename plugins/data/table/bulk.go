package table

import (
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
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

// FromInts returns an Int64 column that owns v.
func FromInts(name string, v []int64) *Column { return wrap(name, intVector(v)) }

// FromUints returns a Uint64 column that owns v.
func FromUints(name string, v []uint64) *Column { return wrap(name, uintVector(v)) }

// FromFloats returns a Float64 column that owns v; NaN is missing.
func FromFloats(name string, v []float64) *Column { return wrap(name, floatVector(v)) }

// FromBools returns a Bool column; valid tells which cells are there, nil
// means all.
func FromBools(name string, v, valid []bool) *Column {
	return wrap(name, boolVector(packBits(v), packValid(valid), len(v)))
}

// FromTexts returns a Text column with copies of the strings; valid tells which
// cells are there, nil means all.
func FromTexts(name string, v []string, valid []bool) *Column {
	size := lists.Sum(v, func(s string) int { return len(s) })
	ends, text := make([]int, 0, len(v)), make([]byte, 0, size)
	for i, s := range v {
		if valid == nil || valid[i] {
			text = append(text, s...)
		}
		ends = append(ends, len(text))
	}
	return wrap(name, textVector(ends, text, packValid(valid), !special(text)))
}

// FromValues returns the column pandas builds from a list of these values, of
// the kind CommonKind.
func FromValues(name string, v []Value) *Column { return FromKind(name, CommonKind(v), v) }

// FromObjects returns a Mixed column, whatever the values are.
func FromObjects(name string, v []Value) *Column { return wrap(name, mixedVector(v)) }

// Collect returns the results of calling cell with 0 to n-1.
func Collect[T any](n int, cell func(int) T) []T {
	v := make([]T, n)
	for k := range v {
		v[k] = cell(k)
	}
	return v
}

// TryCollect is Collect until there is an error.
func TryCollect[T any](n int, cell func(int) (T, error)) ([]T, error) {
	v := make([]T, n)
	for k := range v {
		var err error
		if v[k], err = cell(k); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func validOf(v []Value) []bool {
	for _, x := range v {
		if x.IsMissing() {
			return lists.Of(v, func(x Value) bool { return !x.IsMissing() })
		}
	}
	return nil
}

// CommonKind returns the kind of a list of values to pandas: all integers Int64
// (Uint64 where one needs it, Mixed where another is negative), numbers and gaps
// Float64, booleans with or without gaps Bool, strings with or without gaps Text,
// no value at all Float64, anything else Mixed.
func CommonKind(v []Value) Kind {
	var seen [Mixed]int
	signed := false
	for _, x := range v {
		seen[x.kind]++
		signed = signed || x.kind == Int64 && int64(x.bits) < 0
	}
	ints := seen[Int64] + seen[Uint64]
	switch n := len(v) - seen[Missing]; {
	case n == seen[Bool] && n > 0:
		return Bool
	case n == seen[Text] && n > 0:
		return Text
	case n != ints+seen[Float64], signed && seen[Uint64] > 0:
		return Mixed
	case ints < len(v) || n == 0:
		return Float64
	case seen[Uint64] > 0:
		return Uint64
	}
	return Int64
}

func packBits(v []bool) []byte {
	out := make([]byte, (len(v)+7)/8)
	for i, x := range v {
		if x {
			out[i>>3] |= 1 << (i & 7)
		}
	}
	return out
}

func packValid(valid []bool) []byte {
	for _, ok := range valid {
		if !ok {
			return packBits(valid)
		}
	}
	return nil
}

func wrap(name string, v *vector) *Column {
	return &Column{name: name, kind: v.kind, vecs: []*vector{v}, shift: oneVector, n: v.n}
}

func intVector(v []int64) *vector { return &vector{kind: Int64, n: len(v), ints: v} }

func uintVector(v []uint64) *vector { return &vector{kind: Uint64, n: len(v), uints: v} }

func floatVector(v []float64) *vector { return &vector{kind: Float64, n: len(v), floats: v} }

func boolVector(bits, valid []byte, n int) *vector {
	return &vector{kind: Bool, n: n, bits: bits, valid: valid}
}

// textVector returns a vector of strings that end at the given places of text,
// which is plain if none of them needs quotes.
func textVector(ends []int, text, valid []byte, plain bool) *vector {
	v := &vector{kind: Text, n: len(ends), text: text, plain: plain, valid: valid}
	if len(text) > math.MaxInt32 {
		v.wide = offsets[int64](ends)
	} else {
		v.offs = offsets[int32](ends)
	}
	return v
}

// offsets returns where the strings that end at these places begin, and the last end.
func offsets[T int32 | int64](ends []int) []T {
	out := make([]T, len(ends)+1)
	for i, e := range ends {
		out[i+1] = T(e)
	}
	return out
}

// mixedVector stores the values by kind.
func mixedVector(v []Value) *vector {
	out := &vector{kind: Mixed, n: len(v), tags: make([]int8, len(v)), slots: make([]int32, len(v))}
	var byKind [Mixed][]Value
	for i, x := range v {
		out.tags[i], out.slots[i] = int8(x.kind), int32(len(byKind[x.kind]))
		byKind[x.kind] = append(byKind[x.kind], x)
	}
	out.union = [Mixed]*vector{
		Missing: floatVector(lists.Of(byKind[Missing], func(Value) float64 { return nan() })),
		Int64:   intVector(lists.Of(byKind[Int64], Value.Int)),
		Uint64:  uintVector(lists.Of(byKind[Uint64], func(x Value) uint64 { return x.bits })),
		Float64: floatVector(lists.Of(byKind[Float64], Value.Float)),
		Bool:    FromBools("", lists.Of(byKind[Bool], Value.Bool), nil).vecs[0],
		Text:    FromTexts("", lists.Of(byKind[Text], Value.String), nil).vecs[0],
	}
	return out
}
