package table

import (
	"math"
	"slices"
	"unsafe"
)

// A Column is a named, immutable sequence of cells of one Kind.
//
// Its data are in vectors of 1<<shift cells each, the last one shorter; row
// numbers run through them all.
type Column struct {
	name     string
	kind     Kind
	vecs     []*vector // nil while the data are only in retained lines
	retained *retainedColumn
	shift    uint8
	rows     []int32 // row numbers, -1 = missing; nil: lo, lo+1, …
	lo       int
	n        int
	as       As // Text: see As
}

// vector is a piece of stored data that columns share. Which of the views is
// set follows from kind. The vectors of a Mixed column may be of any kind.
type vector struct {
	kind     Kind
	n        int
	ints     []int64
	small    []int8 // Int64: in place of ints
	uints    []uint64
	floats   []float64
	decimals []int32 // Float64: in place of floats, each over power
	power    float64
	lo, hi   float64 // Float64: of the values
	bounded  bool    // lo and hi are known: all are finite
	bits     []byte  // Bool: one bit a value
	offs     []int32 // Text: n+1 offsets into text, or
	wide     []int64 // the same where text is 2 GiB or more
	text     []byte
	hex      *hexTexts // in place of text
	plain    bool      // text holds no quote, line feed or comma
	valid    []byte    // Bool, Text: one bit a value, nil when none is missing
	tags     []int8    // Mixed: Kind of every value
	slots    []int32   // Mixed: its place in the part of that kind
	union    [Mixed]*vector
	mix      *tally // Mixed: of the chunks it was joined from, if it was
}

// size returns about how much memory the vector takes at most: as if numbers
// were not compact, so that limits do not depend on their digits.
func (v *vector) size() int64 {
	const header = 512
	n := header + 8*(len(v.ints)+len(v.small)+len(v.uints)+len(v.floats)+len(v.decimals)+len(v.wide)) + 4*(len(v.offs)+len(v.slots)) +
		len(v.bits) + len(v.text) + len(v.valid) + len(v.tags)
	if v.hex != nil {
		n += v.hex.size()
	}
	for _, part := range v.union {
		if part != nil {
			n += int(part.size())
		}
	}
	return int64(n)
}

const oneVector = 31 // the shift of columns with a single vector

func bit(b []byte, i int) bool { return b[i>>3]>>(i&7)&1 != 0 }

// row returns the row number of cell i, -1 for a missing cell.
func (c *Column) row(i int) int {
	if c.rows != nil {
		return int(c.rows[i])
	}
	if uint(i) >= uint(c.n) {
		panic("table: row out of range")
	}
	return c.lo + i
}

// at returns the vector that holds cell i and its place there, -1 for none.
func (c *Column) at(i int) (*vector, int) {
	r := c.row(i)
	if r < 0 {
		return nil, -1
	}
	return c.parts()[r>>c.shift], r & (1<<c.shift - 1)
}

// parts returns the column's vectors, reading them from retained lines if need be.
func (c *Column) parts() []*vector {
	if c.retained == nil {
		return c.vecs
	}
	return c.retained.vectors()
}

// Name returns the column's name.
func (c *Column) Name() string { return c.name }

// Kind returns the kind of the column's values.
func (c *Column) Kind() Kind { return c.kind }

// Len returns the number of cells.
func (c *Column) Len() int { return c.n }

// IsMissing reports whether cell i is missing.
func (c *Column) IsMissing(i int) bool {
	v, r := c.at(i)
	return r < 0 || v.missing(r)
}

// MissingCount returns the number of missing cells.
func (c *Column) MissingCount() int {
	if c.complete() {
		return 0
	}
	count := 0
	for i := range c.n {
		if c.IsMissing(i) {
			count++
		}
	}
	return count
}

// Int returns cell i as an integer: floats truncated, booleans 0 or 1, strings
// and missing cells 0.
func (c *Column) Int(i int) int64 {
	v, r := c.at(i)
	if c.kind == Int64 {
		return v.int(r)
	}
	return v.value(r).Int()
}

// Float returns cell i as a double: booleans 0 or 1, strings and missing cells
// NaN.
func (c *Column) Float(i int) float64 {
	v, r := c.at(i)
	if c.kind == Float64 && r >= 0 {
		return v.float(r)
	}
	return v.value(r).Float()
}

// Bool reports whether cell i is true or a number other than zero.
func (c *Column) Bool(i int) bool { return c.Value(i).Bool() }

// Text returns cell i as WriteCSV writes it before quoting: strings as they
// are, without a copy, numbers and booleans as Python spells them, a missing
// cell as nothing.
func (c *Column) Text(i int) string {
	v, r := c.at(i)
	if c.kind == Text && r >= 0 {
		return v.str(r)
	}
	return v.value(r).String()
}

// Value returns cell i.
func (c *Column) Value(i int) Value {
	v, r := c.at(i)
	return v.value(r)
}

// Rename returns the column under another name.
func (c *Column) Rename(name string) *Column {
	d := *c
	d.name = name
	return &d
}

func (v *vector) missing(r int) bool {
	switch v.kind {
	case Float64:
		f := v.float(r)
		return f != f
	case Mixed:
		return v.tags[r] == int8(Missing)
	}
	return v.valid != nil && !bit(v.valid, r)
}

// bytes returns the text at r.
func (v *vector) bytes(r int) []byte {
	if v.hex != nil {
		return v.hex.bytes(r)
	}
	if v.wide != nil {
		return v.text[v.wide[r]:v.wide[r+1]]
	}
	return v.text[v.offs[r]:v.offs[r+1]]
}

func (v *vector) str(r int) string {
	b := v.bytes(r)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// value returns the value at r; a negative r gives the missing value.
func (v *vector) value(r int) Value {
	if r < 0 || v.missing(r) {
		return Value{}
	}
	switch v.kind {
	case Int64:
		return IntValue(v.int(r))
	case Uint64:
		return UintValue(v.uints[r])
	case Float64:
		return FloatValue(v.float(r))
	case Bool:
		return BoolValue(bit(v.bits, r))
	case Text:
		return TextValue(v.str(r))
	case Mixed:
		return v.union[v.tags[r]].value(int(v.slots[r]))
	}
	return Value{}
}

// over returns the column's data seen through rows.
func (c *Column) over(rows []int32) *Column {
	d := &Column{name: c.name, kind: c.kind, vecs: c.vecs, retained: c.retained, shift: c.shift, rows: rows, n: len(rows), as: c.as}
	if (c.kind == Int64 || c.kind == Uint64) && slices.ContainsFunc(rows, func(r int32) bool { return r < 0 }) {
		return FromFloats(c.name, d.Floats())
	}
	return d
}

// compose maps positions of c to row numbers; a negative position to -1.
func (c *Column) compose(at []int32) []int32 {
	if c.rows == nil && c.lo == 0 && at != nil {
		return at
	}
	out := make([]int32, len(at))
	for i, p := range at {
		out[i] = -1
		if p >= 0 {
			out[i] = int32(c.row(int(p)))
		}
	}
	return out
}

// Slice returns cells lo up to hi, sharing the data.
func (c *Column) Slice(lo, hi int) *Column {
	d := *c
	d.n = hi - lo
	if c.rows != nil {
		d.rows = c.rows[lo:hi:hi]
	} else {
		d.lo = c.lo + lo
	}
	return &d
}

// same reports whether both columns' cells have the same row numbers.
func (c *Column) same(d *Column) bool {
	if c.lo != d.lo || c.n != d.n || (c.rows == nil) != (d.rows == nil) {
		return false
	}
	return len(c.rows) == 0 || &c.rows[0] == &d.rows[0]
}

func nan() float64 { return math.NaN() }
