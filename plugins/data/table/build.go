package table

import (
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// FromInts returns an Int64 column that owns v.
func FromInts(name string, v []int64) *Column {
	return wrap(name, intVector(v))
}

// FromUints returns a Uint64 column that owns v.
func FromUints(name string, v []uint64) *Column {
	return wrap(name, uintVector(v))
}

// FromFloats returns a Float64 column that owns v; NaN is missing.
func FromFloats(name string, v []float64) *Column {
	return wrap(name, floatVector(v))
}

// FromBools returns a Bool column; valid tells which cells are there, nil
// means all.
func FromBools(name string, v, valid []bool) *Column {
	return wrap(name, boolVector(packBits(v), packValid(valid), len(v)))
}

// FromTexts returns a Text column with copies of the strings; valid tells which
// cells are there, nil means all.
func FromTexts(name string, v []string, valid []bool) *Column {
	size := 0
	for _, s := range v {
		size += len(s)
	}
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
func FromValues(name string, v []Value) *Column {
	return FromKind(name, CommonKind(v), v)
}

// FromObjects returns a Mixed column, whatever the values are.
func FromObjects(name string, v []Value) *Column { return wrap(name, mixedVector(v)) }

func mapValues[T any](v []Value, f func(Value) T) []T {
	out := make([]T, len(v))
	for i, x := range v {
		out[i] = f(x)
	}
	return out
}

func validOf(v []Value) []bool {
	for _, x := range v {
		if x.IsMissing() {
			return mapValues(v, func(x Value) bool { return !x.IsMissing() })
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
	return &Column{name: name, kind: v.kind, vecs: []*vector{v}, shift: oneVector, n: v.len()}
}

func arrayData(t arrow.DataType, n int, valid []byte, bufs ...[]byte) *array.Data {
	all := make([]*memory.Buffer, 1, len(bufs)+1)
	nulls := 0
	if valid != nil {
		all[0], nulls = memory.NewBufferBytes(valid), array.UnknownNullCount
	}
	for _, b := range bufs {
		all = append(all, memory.NewBufferBytes(b))
	}
	return array.NewData(t, n, all, nil, nulls, 0)
}

func intVector(v []int64) *vector {
	d := arrayData(arrow.PrimitiveTypes.Int64, len(v), nil, arrow.Int64Traits.CastToBytes(v))
	return &vector{kind: Int64, array: array.NewInt64Data(d), ints: v}
}

func uintVector(v []uint64) *vector {
	d := arrayData(arrow.PrimitiveTypes.Uint64, len(v), nil, arrow.Uint64Traits.CastToBytes(v))
	return &vector{kind: Uint64, array: array.NewUint64Data(d), uints: v}
}

func floatVector(v []float64) *vector {
	d := arrayData(arrow.PrimitiveTypes.Float64, len(v), nil, arrow.Float64Traits.CastToBytes(v))
	return &vector{kind: Float64, array: array.NewFloat64Data(d), floats: v}
}

func boolVector(bits, valid []byte, n int) *vector {
	d := arrayData(arrow.FixedWidthTypes.Boolean, n, valid, bits)
	return &vector{kind: Bool, array: array.NewBooleanData(d), bits: bits, valid: valid}
}

// textVector returns a vector of strings that end at the given places of text,
// which is plain if none of them needs quotes.
func textVector(ends []int, text, valid []byte, plain bool) *vector {
	if len(text) > math.MaxInt32 {
		wide := make([]int64, len(ends)+1)
		for i, e := range ends {
			wide[i+1] = int64(e)
		}
		d := arrayData(arrow.BinaryTypes.LargeString, len(ends), valid, arrow.Int64Traits.CastToBytes(wide), text)
		return &vector{kind: Text, array: array.NewLargeStringData(d), wide: wide, text: text, plain: plain, valid: valid}
	}
	offs := make([]int32, len(ends)+1)
	for i, e := range ends {
		offs[i+1] = int32(e)
	}
	d := arrayData(arrow.BinaryTypes.String, len(ends), valid, arrow.Int32Traits.CastToBytes(offs), text)
	return &vector{kind: Text, array: array.NewStringData(d), offs: offs, text: text, plain: plain, valid: valid}
}

// mixedVector stores the values by kind, as an Arrow dense union.
func mixedVector(v []Value) *vector {
	out := &vector{kind: Mixed, tags: make([]int8, len(v)), slots: make([]int32, len(v))}
	var byKind [Mixed][]Value
	for i, x := range v {
		out.tags[i], out.slots[i] = int8(x.kind), int32(len(byKind[x.kind]))
		byKind[x.kind] = append(byKind[x.kind], x)
	}
	out.union = [Mixed]*vector{
		Missing: floatVector(mapValues(byKind[Missing], func(Value) float64 { return nan() })),
		Int64:   intVector(mapValues(byKind[Int64], Value.Int)),
		Uint64:  uintVector(mapValues(byKind[Uint64], func(x Value) uint64 { return x.bits })),
		Float64: floatVector(mapValues(byKind[Float64], Value.Float)),
		Bool:    FromBools("", mapValues(byKind[Bool], Value.Bool), nil).vecs[0],
		Text:    FromTexts("", mapValues(byKind[Text], Value.String), nil).vecs[0],
	}
	out.array = unionArray(out)
	return out
}

// unionArray returns the Arrow array over a Mixed vector's parts.
func unionArray(v *vector) arrow.Array {
	var fields []arrow.Field
	var codes []arrow.UnionTypeCode
	var parts []arrow.ArrayData
	for k, p := range v.union {
		fields = append(fields, arrow.Field{Name: Kind(k).String(), Type: p.array.DataType(), Nullable: true})
		codes = append(codes, arrow.UnionTypeCode(k))
		parts = append(parts, p.array.Data())
	}
	bufs := []*memory.Buffer{nil,
		memory.NewBufferBytes(arrow.Int8Traits.CastToBytes(v.tags)),
		memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(v.slots))}
	d := array.NewData(arrow.DenseUnionOf(fields, codes), len(v.tags), bufs, parts, 0, 0)
	return array.NewDenseUnionData(d)
}
