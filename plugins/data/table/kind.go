package table

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
)

// Kind is the type of a column's values.
type Kind uint8

// The kinds. The zero Kind is that of a missing Value; no column has it.
const (
	Missing Kind = iota // only the kind of a Value: no value
	Int64               // 64-bit signed integers, never missing
	Uint64              // 64-bit unsigned integers, never missing
	Float64             // doubles; NaN is the missing value
	Bool                // booleans; pandas' object column if some are missing
	Text                // UTF-8 strings
	Mixed               // values of several types, as a pandas object column
)

var kindNames = [...]string{"missing", "int64", "uint64", "float64", "bool", "text", "mixed"}

// String returns the kind's name in lower case.
func (k Kind) String() string { return kindNames[k] }

// IsNumber reports whether k is Int64, Uint64 or Float64.
func (k Kind) IsNumber() bool { return k == Int64 || k == Uint64 || k == Float64 }

// A Value is one cell. The zero Value is missing.
type Value struct {
	kind Kind
	bits uint64
	text string
}

// IntValue returns an Int64 value.
func IntValue(v int64) Value { return Value{kind: Int64, bits: uint64(v)} }

// UintValue returns a Uint64 value.
func UintValue(v uint64) Value { return Value{kind: Uint64, bits: v} }

// FloatValue returns a Float64 value; NaN gives the missing value.
func FloatValue(v float64) Value {
	if math.IsNaN(v) {
		return Value{}
	}
	return Value{kind: Float64, bits: math.Float64bits(v)}
}

// NumberValue returns the first of Int64, Uint64 and Float64 that holds a number,
// rounded if none does.
func NumberValue(f *big.Float) Value {
	if n, accuracy := f.Int64(); f.IsInt() && accuracy == big.Exact {
		return IntValue(n)
	}
	if n, accuracy := f.Uint64(); f.IsInt() && accuracy == big.Exact {
		return UintValue(n)
	}
	d, _ := f.Float64()
	return FloatValue(d)
}

// BoolValue returns a Bool value.
func BoolValue(v bool) Value {
	if v {
		return Value{kind: Bool, bits: 1}
	}
	return Value{kind: Bool}
}

// TextValue returns a Text value.
func TextValue(v string) Value { return Value{kind: Text, text: v} }

// Kind returns the value's kind, Missing if there is none.
func (v Value) Kind() Kind { return v.kind }

// IsMissing reports whether v is missing.
func (v Value) IsMissing() bool { return v.kind == Missing }

// Int returns the value as an integer: floats truncated (math.MinInt64 for those
// that do not fit and NaN), booleans 0 or 1, anything else 0.
func (v Value) Int() int64 {
	switch v.kind {
	case Float64:
		f := math.Float64frombits(v.bits)
		if !(f >= -0x1p63 && f < 0x1p63) { // what it gives else depends on the processor
			return math.MinInt64
		}
		return int64(f)
	case Int64, Uint64, Bool:
		return int64(v.bits)
	}
	return 0
}

// Float returns the value as a double: booleans 0 or 1, strings and missing
// NaN.
func (v Value) Float() float64 {
	switch v.kind {
	case Int64:
		return float64(int64(v.bits))
	case Uint64, Bool:
		return float64(v.bits)
	case Float64:
		return math.Float64frombits(v.bits)
	}
	return math.NaN()
}

// Exact returns a number or boolean as the first of Int64, Uint64 and Float64
// that holds it, and any other value unchanged: values are equal to Python, as
// members of a set are, if their Exact values are the same.
func (v Value) Exact() Value {
	switch v.kind {
	case Bool:
		v.kind = Int64
	case Uint64:
		if v.bits <= math.MaxInt64 {
			v.kind = Int64
		}
	case Float64:
		switch f := math.Float64frombits(v.bits); {
		case f != math.Trunc(f):
		case f >= -0x1p63 && f < 0x1p63:
			return IntValue(int64(f))
		case f >= 0x1p63 && f < 0x1p64:
			return UintValue(uint64(f))
		}
	}
	return v
}

// Compare compares two numbers or booleans by their exact values, as Python
// does.
func (v Value) Compare(w Value) int {
	if v.kind != w.kind {
		v, w = v.Exact(), w.Exact()
	}
	switch {
	case v.kind != w.kind || v.kind == Float64:
		return cmp.Compare(v.place(), w.place())
	case v.kind == Uint64:
		return cmp.Compare(v.bits, w.bits)
	}
	return cmp.Compare(int64(v.bits), int64(w.bits))
}

// place returns a double that orders the exact value among those of other
// kinds: what is Float64 has a fraction or is beyond 64 bits.
func (v Value) place() float64 {
	if v.kind == Uint64 {
		return 0x1.8p63
	}
	return v.Float()
}

// Bool reports whether the value is true or a number other than zero.
func (v Value) Bool() bool {
	if v.kind == Float64 {
		return math.Float64frombits(v.bits) != 0
	}
	return v.bits != 0
}

// String returns the text WriteCSV writes for v before quoting: Python's str
// of the value, and nothing for a missing one.
func (v Value) String() string {
	if v.kind == Text {
		return v.text
	}
	return string(v.append(nil))
}

func (v Value) append(b []byte) []byte {
	switch v.kind {
	case Int64:
		return strconv.AppendInt(b, int64(v.bits), 10)
	case Uint64:
		return strconv.AppendUint(b, v.bits, 10)
	case Float64:
		return AppendFloat(b, math.Float64frombits(v.bits))
	case Bool:
		return appendBool(b, v.bits != 0)
	case Text:
		return append(b, v.text...)
	}
	return b
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, "True"...)
	}
	return append(b, "False"...)
}

// A Lookup says how pandas finds cells among others, as in merge and isin.
type Lookup struct {
	Floats bool // numbers are compared as doubles, not exactly
}

// LookupIn returns how cells of two columns of these kinds are found in one
// another: numbers of two types as doubles.
func LookupIn(a, b Kind) Lookup { return Lookup{a != b && a.IsNumber() && b.IsNumber()} }

// Key returns the same value for cells that are equal.
func (l Lookup) Key(v Value) Value {
	if l.Floats && v.kind.IsNumber() {
		v = FloatValue(v.Float())
	}
	return v.Exact()
}
