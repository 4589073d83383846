package table

import "math"

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

// newBuilder returns a builder for a chunk of n rows of the guessed kind, nil
// if there is none for it. wide says that floats have too many digits to be
// kept as decimals.
func newBuilder(kind Kind, r rules, n int, wide bool, scratch *textBuilder) builder {
	switch kind {
	case Int64:
		return &intGuess{intList{small: make([]int8, 0, n), n: n}}
	case Float64:
		return &floatGuess{r: r, out: newFloatList(n, wide)}
	case Text:
		scratch.reset()
		return &textGuess{r: r, b: scratch}
	}
	return nil
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
