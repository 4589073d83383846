package table

import (
	"encoding/binary"
	"math"
)

// A builder types a column while it is cut into fields, on the guess that
// this chunk has the kind of the one before. It promises the very result of
// rules.infer or none.
type builder interface {
	// add adds a column's cells of a batch and reports whether the guess may
	// still hold.
	add(b *batch, col, width int) bool
	// finish returns the vector, nil if the guess did not hold.
	finish() *vector
}

type intGuess struct{ out intList }

func (g *intGuess) add(b *batch, col, width int) bool {
	short := 0
	for i := col; i < len(b.spans); i += width {
		s := b.spans[i]
		if s.isNumber() {
			n := g.out.addDigits(b.spans[i:], width)
			short, i = short+n, i+(n-1)*width
			continue
		}
		if s.n == 1 && s.off < inSide && g.out.wide == nil && isDigit(b.raw[b.base+int(s.off)]) {
			g.out.small = append(g.out.small, int8(b.raw[b.base+int(s.off)]-'0'))
			short++
			continue
		}
		v, res := parseInt(b.cell(s))
		if res != okay {
			return false
		}
		g.out.add(v)
	}
	b.expect(col, oneDigit, short)
	return true
}

func (g *intGuess) finish() *vector { return g.out.vector() }

// floatGuess holds for columns with at least one number that has a point or
// an exponent before any integer that is too large, or with a gap and small
// integers.
type floatGuess struct {
	r          rules
	out        floatList
	gap        bool
	fractional bool
	minusZero  bool // an integer is -0, which is 0 among integers
}

// maxWhole bounds the integers that any parser turns into the same double.
const maxWhole = 1 << 53

func (g *floatGuess) add(b *batch, col, width int) bool {
	typical := 0
	for i := col; i < len(b.spans); i += width {
		if b.spans[i].isNumber() {
			n := g.out.addNumbers(b.spans[i:], width)
			typical, i = typical+n, i+(n-1)*width
			continue
		}
		cell := b.cell(b.spans[i])
		if !g.addCell(cell) {
			return false
		}
		if g.out.wide == nil && len(cell) == len("0.")+g.out.places {
			typical++
		}
	}
	b.expect(col, decimalPattern(g.out.places), typical)
	return true
}

func (g *floatGuess) addCell(cell []byte) bool {
	d, ok := g.cell(cell)
	if ok {
		g.out.add(d)
	}
	return ok
}

// cell reads a cell and reports whether the guess may still hold.
func (g *floatGuess) cell(b []byte) (d double, ok bool) {
	if d, ok = g.r.double(b); !ok {
		g.gap = true
		return double{f: nan(), places: -1}, g.r.missing(b)
	}
	switch {
	case !d.whole && !g.fractional:
		if _, res := parseInt(b); res != invalid {
			return d, false // pandas takes too many digits before the point for text
		}
		g.fractional = true
	case !d.whole:
	case !(-maxWhole < d.f && d.f < maxWhole):
		return d, false
	case d.f == 0 && math.Signbit(d.f):
		g.minusZero = true
	}
	return d, true
}

func (g *floatGuess) finish() *vector {
	if !g.holds() {
		return nil
	}
	return g.out.vector()
}

func (g *floatGuess) holds() bool { return g.fractional || g.gap && !g.minusZero }

// textGuess holds for columns in which some cell is not an integer, some no
// number and some no boolean, if no integer too large comes before them.
type textGuess struct {
	r                      rules
	b                      *textBuilder
	noInt, noFloat, noBool bool
	sure                   bool
	hex                    *hexTexts // in place of b
}

func (g *textGuess) add(b *batch, col, width int) bool {
	for i := col; i < len(b.spans); i += width {
		if !g.addCell(b.cell(b.spans[i])) {
			return false
		}
	}
	return true
}

func (g *textGuess) addCell(cell []byte) bool {
	if !g.sure && !g.r.missing(cell) && !g.decide(cell) {
		return false
	}
	g.b.add(g.r, cell)
	return true
}

// decide looks at a cell while the column may be something else than text.
func (g *textGuess) decide(b []byte) bool {
	if !g.noInt {
		_, res := parseInt(b)
		if res == overflow {
			return false
		}
		g.noInt = res == invalid
	}
	if !g.noFloat {
		_, _, ok := g.r.float(b)
		g.noFloat = !ok
	}
	if !g.noBool {
		_, ok := parseBool(b)
		g.noBool = !ok
	}
	g.sure = g.noInt && g.noFloat && g.noBool
	return true
}

func (g *textGuess) finish() *vector {
	switch {
	case !g.sure:
		return nil
	case g.hex != nil:
		return &vector{kind: Text, hex: g.hex, n: len(g.hex.low), plain: true}
	}
	return g.b.vector()
}

// read adds the text of the field at raw[at:], which is plain, as one of n texts.
func (g *textGuess) read(t *tokenizer, at, n int) (end int, ok bool) {
	if g.hex != nil {
		if end, ok = g.hex.read(t.raw, at); ok {
			return end, true
		}
		for i := range g.hex.low {
			g.b.add(g.r, g.hex.bytes(i))
		}
		g.hex = nil
	}
	end = t.fieldEnd(t.raw, at)
	if cell := t.raw[at:end]; len(g.b.ends) > 0 {
		return end, g.addCell(cell)
	} else if ok = g.r.missing(cell) || g.decide(cell); ok && g.sure {
		if g.hex = newHexTexts(cell, n); g.hex != nil {
			return g.hex.read(t.raw, at)
		}
	}
	return end, ok && g.addCell(t.raw[at:end])
}

// pattern is how the cells of a column are expected to be written, after those
// before. Cells of that pattern are cut and read in one pass, without a look for
// separators.
type pattern uint8

const (
	noPattern pattern = iota
	oneDigit
	// oneDigit+p is a digit, a point and p digits, of which there are 1 to 9.
)

// patternBytes is the size of the longest number with a pattern and its separator.
const patternBytes = len("0.123456789,")

// decimalPattern returns the pattern of a number with so many decimal places.
func decimalPattern(places int) pattern {
	if places < 1 || places > 9 {
		return noPattern
	}
	return oneDigit + pattern(places)
}

// numberMark is set in the n of a span that stands for a number in place of a
// text: off over 10 to the power of the other bits of n.
const numberMark = 1 << 31

func (s span) isNumber() bool { return s.n&numberMark != 0 }

func (s span) number() double {
	places := int(s.n &^ numberMark)
	return double{f: float64(s.off) / pow10[places], mantissa: uint64(s.off), places: places, whole: places == 0}
}

// expect sets the pattern of the next cells of a column, if at least half of its
// cells in the batch had it.
func (b *batch) expect(col int, s pattern, had int) {
	if b.patterns[col] = s; 2*had < b.rows {
		b.patterns[col] = noPattern
	}
}

// regular reports whether most columns have a pattern. If not, plainFields is the
// faster way to cut records.
func (b *batch) regular() bool {
	n, none := len(b.patterns), 0
	b.alike = append(b.alike[:0], make([]int, n)...)
	for i := n - 1; i >= 0; i-- {
		if b.alike[i] = 1; i+1 < n && b.patterns[i] == b.patterns[i+1] {
			b.alike[i] += b.alike[i+1]
		}
		if b.patterns[i] == noPattern {
			none++
		}
	}
	return 4*none <= n
}

// numbers appends cells of a record, whose first span is the given one, up to
// one that does not have its column's pattern or ends the record.
func (t *tokenizer) numbers(b *batch, first int) {
	for before := -1; before < len(b.spans) && len(b.spans)-first < len(b.patterns); {
		before = len(b.spans)
		switch col := before - first; b.patterns[col] {
		case noPattern:
			return
		case oneDigit:
			t.digits(b, b.alike[col])
		default:
			t.decimals(b, int(b.patterns[col]-oneDigit), b.alike[col])
		}
	}
}

// digits appends at most n cells of one digit. It reads four at once.
func (t *tokenizer) digits(b *batch, n int) {
	const even = 0x00ff00ff00ff00ff
	raw, at, spans := t.raw, t.pos, b.spans
	commas := lowBits * uint64(t.comma) &^ even
	for ; n >= 4 && at+8 <= len(raw); n -= 4 {
		x := binary.LittleEndian.Uint64(raw[at:])
		d := (x ^ zeros) & even
		if x&^even != commas || (d+(0x100-10)*(lowBits&even))&^even != 0 {
			break
		}
		spans = append(spans, span{uint32(d & 0xff), numberMark}, span{uint32(d >> 16 & 0xff), numberMark},
			span{uint32(d >> 32 & 0xff), numberMark}, span{uint32(d >> 48), numberMark})
		at += 8
	}
	for ; n > 0 && at+2 <= len(raw) && isDigit(raw[at]) && raw[at+1] == t.comma; n-- {
		spans = append(spans, span{uint32(raw[at] - '0'), numberMark})
		at += 2
	}
	t.pos, b.spans = at, spans
}

// decimals appends at most n cells of a digit, a point and so many places.
func (t *tokenizer) decimals(b *batch, places, n int) {
	raw, at, spans := t.raw, t.pos, b.spans
	few := min(places, 8) // are read at once, behind zeros
	shift := 8 * uint(8-few)
	fill, power := uint64(zeros)&(1<<shift-1), tens[few]
	for ; n > 0 && at+patternBytes <= len(raw); n-- {
		head, from := uint64(raw[at]-'0'), at+2
		if head > 9 || raw[at+1] != '.' || raw[from+places] != t.comma {
			break
		}
		if places > few {
			d := uint64(raw[from] - '0')
			if d > 9 {
				break
			}
			head, from = head*10+d, from+1
		}
		m, ok := eightDigits(binary.LittleEndian.Uint64(raw[from:])<<shift | fill)
		if m += head * power; !ok || m > math.MaxInt32 {
			break
		}
		spans = append(spans, span{uint32(m), numberMark | uint32(places)})
		at += places + 3
	}
	t.pos, b.spans = at, spans
}
