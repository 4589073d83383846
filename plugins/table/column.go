package table

import (
	"math"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"
)

// A Column is a named, immutable sequence of cells of one Kind.
type Column struct {
	name string
	*vector
	rows []int32 // row numbers into vector, -1 = missing; nil: lo, lo+1, …
	lo   int
	n    int
}

// vector is the stored data that columns share. Which of the views is set
// follows from kind; array owns the memory they look at.
type vector struct {
	kind   Kind
	array  arrow.Array
	ints   []int64
	uints  []uint64
	floats []float64
	bits   []byte  // Bool: one bit a value
	offs   []int64 // Text: n+1 offsets into text
	text   []byte
	valid  []byte  // Bool, Text: one bit a value, nil when none is missing
	tags   []int8  // Mixed: Kind of every value
	slots  []int32 // Mixed: its place in the part of that kind
	parts  [Mixed]*vector
}

func bit(b []byte, i int) bool { return b[i>>3]>>(i&7)&1 != 0 }

// at returns the row of the vector that holds cell i, -1 for none.
func (c *Column) at(i int) int {
	if c.rows != nil {
		return int(c.rows[i])
	}
	if uint(i) >= uint(c.n) {
		panic("table: row out of range")
	}
	return c.lo + i
}

// plain reports whether the column is the vector's rows lo, lo+1, ….
func (c *Column) plain() bool { return c.rows == nil }

// Name returns the column's name.
func (c *Column) Name() string { return c.name }

// Kind returns the kind of the column's values.
func (c *Column) Kind() Kind { return c.kind }

// Len returns the number of cells.
func (c *Column) Len() int { return c.n }

// IsMissing reports whether cell i is missing.
func (c *Column) IsMissing(i int) bool { return c.missingAt(c.at(i)) }

// MissingCount returns the number of missing cells.
func (c *Column) MissingCount() int {
	if c.kind == Int64 || c.kind == Uint64 {
		return 0
	}
	count := 0
	for i := range c.n {
		if c.missingAt(c.at(i)) {
			count++
		}
	}
	return count
}

// Int returns cell i as an integer: floats truncated, booleans 0 or 1, texts
// and missing cells 0.
func (c *Column) Int(i int) int64 {
	if c.kind == Int64 {
		return c.ints[c.at(i)]
	}
	return c.Value(i).Int()
}

// Float returns cell i as a double: booleans 0 or 1, texts and missing cells
// NaN.
func (c *Column) Float(i int) float64 {
	if c.kind == Float64 {
		if r := c.at(i); r >= 0 {
			return c.floats[r]
		}
		return math.NaN()
	}
	return c.Value(i).Float()
}

// Bool reports whether cell i is true or a number other than zero.
func (c *Column) Bool(i int) bool { return c.Value(i).Bool() }

// Text returns cell i as WriteCSV writes it before quoting: texts as they
// are, without a copy, numbers and booleans as Python spells them, a missing
// cell as nothing.
func (c *Column) Text(i int) string {
	if r := c.at(i); c.kind == Text {
		return c.textAt(r)
	}
	return c.Value(i).String()
}

// Value returns cell i.
func (c *Column) Value(i int) Value { return c.valueAt(c.at(i)) }

// Rename returns the column under another name.
func (c *Column) Rename(name string) *Column {
	d := *c
	d.name = name
	return &d
}

func (v *vector) missingAt(r int) bool {
	switch {
	case r < 0:
		return true
	case v.kind == Float64:
		return v.floats[r] != v.floats[r]
	case v.kind == Mixed:
		return v.tags[r] == int8(Missing)
	}
	return v.valid != nil && !bit(v.valid, r)
}

func (v *vector) textAt(r int) string {
	if r < 0 {
		return ""
	}
	lo, hi := v.offs[r], v.offs[r+1]
	if lo == hi {
		return ""
	}
	return unsafe.String(&v.text[lo], int(hi-lo))
}

func (v *vector) valueAt(r int) Value {
	if v.missingAt(r) {
		return Value{}
	}
	switch v.kind {
	case Int64:
		return IntValue(v.ints[r])
	case Uint64:
		return UintValue(v.uints[r])
	case Float64:
		return FloatValue(v.floats[r])
	case Bool:
		return BoolValue(bit(v.bits, r))
	case Text:
		return TextValue(v.textAt(r))
	case Mixed:
		return v.parts[v.tags[r]].valueAt(int(v.slots[r]))
	}
	return Value{}
}

// over returns the column's vector seen through rows.
func (c *Column) over(rows []int32) *Column {
	d := &Column{name: c.name, vector: c.vector, rows: rows, n: len(rows)}
	if c.kind == Int64 || c.kind == Uint64 {
		for _, r := range rows {
			if r < 0 {
				return FromFloats(c.name, d.Floats())
			}
		}
	}
	return d
}

// compose maps positions of c to rows of its vector.
func (c *Column) compose(rows []int32) []int32 {
	if c.plain() && c.lo == 0 {
		if rows == nil {
			return []int32{}
		}
		return rows
	}
	out := make([]int32, len(rows))
	for i, r := range rows {
		out[i] = -1
		if r >= 0 {
			out[i] = int32(c.at(int(r)))
		}
	}
	return out
}

// slice returns cells lo up to hi, sharing the data.
func (c *Column) slice(lo, hi int) *Column {
	d := *c
	d.n = hi - lo
	if c.rows != nil {
		d.rows = c.rows[lo:hi:hi]
	} else {
		d.lo = c.lo + lo
	}
	return &d
}
