package table

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// cells are the fields of one column in one chunk, whose columns all have the same fields.
type cells struct {
	fields     [][]byte
	width, col int
}

func (c cells) len() int        { return len(c.fields) / c.width }
func (c cells) at(i int) []byte { return c.fields[i*c.width+c.col] }

// rules are the settings that decide the meaning of a cell.
type rules struct {
	fast   bool // pandas' fast float parser
	keepNA bool // no string stands for a missing value
}

func (r rules) missing(b []byte) bool { return !r.keepNA && IsNA(b) }

func (r rules) float(b []byte) (f float64, whole, ok bool) {
	if r.fast {
		return parseFast(b)
	}
	return parseRoundTrip(b)
}

// infer types a chunk's column as pandas' C parser does: it tries int64,
// uint64, float64 and bool, and leaves strings otherwise.
func (r rules) infer(c cells) *vector {
	v, res := r.tryInts(c)
	if res == overflow {
		return r.inferLarge(c)
	}
	if res == okay {
		return v
	}
	return r.inferNoInts(c)
}

// inferLarge types a column whose first cell that is no int64 is an integer
// too large for it.
func (r rules) inferLarge(c cells) *vector {
	out := make([]uint64, c.len())
	var signed, large, gap bool
	for i := range out {
		b := c.at(i)
		if r.missing(b) {
			gap = true
			continue
		}
		v, negative, res := parseUint(b)
		if res == overflow {
			return r.texts(c)
		}
		if res == invalid {
			return r.inferNoInts(c)
		}
		out[i] = v
		signed = signed || negative
		large = large || v > math.MaxInt64
	}
	switch {
	case large && (signed || gap):
		return rules{keepNA: true}.texts(c)
	case signed:
		return r.texts(c)
	}
	return uintVector(out)
}

func (r rules) inferNoInts(c cells) *vector {
	if v := r.tryFloats(c); v != nil {
		return v
	}
	if v := r.tryBools(c); v != nil {
		return v
	}
	return r.texts(c)
}

// tryInts returns an Int64 vector, a Float64 one if cells are missing, or the
// outcome for the first cell that does not fit.
func (r rules) tryInts(c cells) (*vector, outcome) {
	out := make([]int64, c.len())
	var missing []int
	for i := range out {
		b := c.at(i)
		if r.missing(b) {
			missing = append(missing, i)
			continue
		}
		v, res := parseInt(b)
		if res != okay {
			return nil, res
		}
		out[i] = v
	}
	if len(missing) == 0 {
		return intVector(out), okay
	}
	floats := make([]float64, len(out))
	for i, v := range out {
		floats[i] = float64(v)
		if v == math.MinInt64 {
			floats[i] = nan() // pandas marks missing integers with this value
		}
	}
	for _, i := range missing {
		floats[i] = nan()
	}
	return floatVector(floats), okay
}

func (r rules) tryFloats(c cells) *vector {
	out := make([]float64, c.len())
	for i := range out {
		b := c.at(i)
		if r.missing(b) {
			out[i] = nan()
			continue
		}
		f, _, ok := r.float(b)
		if !ok {
			return nil
		}
		out[i] = f
	}
	return floatVector(out)
}

func (r rules) tryBools(c cells) *vector {
	var b boolBuilder
	for i := range c.len() {
		if !b.add(r, c.at(i)) {
			return nil
		}
	}
	return b.vector()
}

func (r rules) texts(c cells) *vector {
	var b textBuilder
	for i := range c.len() {
		b.add(r, c.at(i))
	}
	return b.vector()
}

// as types a column as asked instead of by inference.
func (r rules) as(kind Kind, c cells) (*vector, error) {
	var v *vector
	switch kind {
	case Text:
		return r.texts(c), nil
	case Float64:
		v = r.forcedFloats(c)
	case Bool:
		v = r.forcedBools(c)
	case Int64:
		v = r.forcedInts(c)
	default:
		return nil, fmt.Errorf("cannot read as %v", kind)
	}
	if v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("row %d: cannot read %q as %v", r.firstBad(kind, c)+1, c.at(r.firstBad(kind, c)), kind)
}

// forcedFloats reads floats as pandas does where dtype=float is asked: if all
// cells are booleans, they count as 0 and 1.
func (r rules) forcedFloats(c cells) *vector {
	v := r.tryFloats(c)
	if v == nil {
		if v = r.tryBools(c); v != nil {
			v = FromKind("", Float64, v.values()).vecs[0]
		}
	}
	return v
}

// forcedBools reads booleans as pandas does where dtype=bool is asked: if all
// cells are the integers 0 and 1, they count as well.
func (r rules) forcedBools(c cells) *vector {
	if v := r.tryBools(c); v != nil {
		return v
	}
	v, _ := r.tryInts(c)
	if v == nil || v.kind != Int64 || slices.ContainsFunc(v.ints, func(n int64) bool { return n&^1 != 0 }) {
		return nil
	}
	return boolVector(packBits(lists.Of(v.values(), Value.Bool)), nil, c.len())
}

// forcedInts reads integers as pandas does where dtype=int is asked: floats
// without a fraction and booleans count as well. Integers beyond int64 are Uint64.
func (r rules) forcedInts(c cells) *vector {
	v, res := r.tryInts(c)
	if res == overflow {
		if v = r.inferLarge(c); v.kind == Text {
			return nil
		}
	}
	if v == nil {
		v = r.tryFloats(c)
	}
	if v == nil {
		v = r.tryBools(c)
	}
	if v == nil || v.kind == Int64 || v.kind == Uint64 {
		return v
	}
	out := make([]int64, c.len())
	for i := range out {
		f := v.value(i).Float()
		if out[i] = int64(f); f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
			return nil
		}
	}
	return intVector(out)
}

// firstBad returns the first row that cannot be read as kind.
func (r rules) firstBad(kind Kind, c cells) int {
	for i := range c.len() {
		b := c.at(i)
		if na := r.missing(b); na && kind != Int64 {
			continue
		}
		ok := false
		switch kind {
		case Float64:
			_, _, ok = r.float(b)
		case Bool:
			_, ok = parseBool(b)
		case Int64:
			var res outcome
			_, res = parseInt(b)
			f, _, number := r.float(b)
			ok = res == okay || number && f == math.Trunc(f) && math.Abs(f) < 1<<63
		}
		if !ok {
			return i
		}
	}
	return 0
}

// boolBuilder collects booleans, some of which may be missing.
type boolBuilder struct{ values, valid []bool }

func (b *boolBuilder) add(r rules, cell []byte) bool {
	v, ok := parseBool(cell)
	missing := !ok && r.missing(cell)
	b.values, b.valid = append(b.values, v && ok), append(b.valid, !missing)
	return ok || missing
}

func (b *boolBuilder) vector() *vector {
	return boolVector(packBits(b.values), packValid(b.valid), len(b.values))
}

// textBuilder collects strings, some of which may be missing.
type textBuilder struct {
	text    []byte
	ends    []int
	missing []int
	share   float64 // of the file's bytes, in the chunk before
	bare    bool    // no text needs quotes
}

func (b *textBuilder) add(r rules, cell []byte) {
	if r.missing(cell) {
		b.missing = append(b.missing, len(b.ends))
	} else {
		b.text = append(b.text, cell...)
	}
	b.ends = append(b.ends, len(b.text))
}

// vector returns the strings; the builder can be reset and used again. Their
// memory is the builder's unless much of it would lie idle.
func (b *textBuilder) vector() *vector {
	var valid []byte
	if len(b.missing) > 0 {
		valid = allBits(len(b.ends))
		for _, i := range b.missing {
			valid[i>>3] &^= 1 << (i & 7)
		}
	}
	text := b.text
	if b.text = nil; cap(text)-len(text) > len(text)/8 {
		exact := make([]byte, len(text))
		copy(exact, text)
		text, b.text = exact, text
	}
	return textVector(b.ends, text, valid, b.bare || !special(text))
}

// reserve makes space for the column's share of a chunk of so many rows and
// bytes, and a little more, unless there is some.
func (b *textBuilder) reserve(rows, bytes int) {
	if b.text == nil && rows > sampleRows {
		b.ends = slices.Grow(b.ends[:0], rows)
		b.text = make([]byte, 0, int(b.share*float64(bytes)*17/16))
	}
}

func allBits(n int) []byte {
	b := bytes.Repeat([]byte{0xff}, (n+7)/8)
	if n&7 != 0 {
		b[len(b)-1] = 1<<(n&7) - 1
	}
	return b
}
