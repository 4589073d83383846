package table

import (
	"bytes"
	"math"
	"strconv"
)

// retain turns the chunk into lines as they will be written, if all its columns
// have the guessed kinds. Most cells are written as they were read.
func (p *parser) retain(c *chunk) bool {
	builders := p.rewriters(c)
	if builders == nil {
		return false
	}
	t := p.tokenizer(c)
	lines := &retainedLines{}
	if stored := p.file != nil && !p.inMemory && t.plain && p.comma == ','; stored {
		lines.inFile = &fileLines{file: p.file, at: c.at, lens: make([]uint16, 0, c.rows)}
	} else {
		lines.text, lines.starts = make([]byte, 0, len(c.raw)+len(c.raw)/64+64), make([]uint32, 1, c.rows+1)
	}
	for first := true; p.nextBatch(&t, c, first); first = false {
		p.batch.edited = append(p.batch.edited[:0], make([]bool, p.batch.rows)...)
		for i, b := range builders {
			if !b.add(&p.batch, i, p.width) {
				return false
			}
		}
		if lines.inFile != nil && !lines.inFile.add(&p.batch, p.width) {
			p.inMemory, c.filled = true, 0
			return p.retain(c)
		}
		if lines.inFile == nil && !lines.add(&p.batch, p.width, t.plain && p.comma == ',') {
			return false
		}
	}
	if t.open || c.err != nil {
		return false
	}
	c.cols = make([]*vector, p.width)
	for i, b := range builders {
		if c.cols[i] = b.finish(); c.cols[i] == nil {
			return false
		}
	}
	if c.lines = lines; lines.inFile != nil {
		lines.inFile.finish()
	}
	return true
}

// rewriters returns the rewriter of each column; nil if some column has none.
func (p *parser) rewriters(c *chunk) []builder {
	builders := make([]builder, p.width)
	for i, k := range p.guesses {
		if p.forced[i] == Text {
			k = Text
		} else if p.forced[i] != Missing {
			return nil
		}
		switch k {
		case Int64:
			builders[i] = intRewriter{}
		case Float64:
			builders[i] = &floatRewriter{floatGuess: floatGuess{r: p.rules}}
		case Bool:
			builders[i] = &boolRewriter{r: p.rules}
		case Text:
			builders[i] = &textRewriter{textGuess: textGuess{r: p.rules, sure: p.forced[i] == Text}, quotes: !p.bare(c)}
		default:
			return nil
		}
	}
	return builders
}

// add appends a batch whose spans are the cells to write. An unedited row of a plain
// file is copied whole.
func (l *retainedLines) add(b *batch, width int, plain bool) bool {
	for row := range b.rows {
		spans := b.spans[row*width:][:width]
		if start, end, ok := b.line(spans); ok && plain && !b.edited[row] {
			l.text = append(l.text, b.raw[start:end]...)
		} else {
			l.text = b.appendLine(l.text, spans)
		}
		if len(l.text) > math.MaxUint32 {
			return false
		}
		l.starts = append(l.starts, uint32(len(l.text)))
	}
	return true
}

// appendLine appends the cells of a row to dst as a line.
func (b *batch) appendLine(dst []byte, spans []span) []byte {
	for _, s := range spans {
		dst = append(append(dst, b.cell(s)...), ',')
	}
	dst[len(dst)-1] = '\n'
	return dst
}

// line returns where the line of a row is in raw, if it ends behind the last
// span.
func (b *batch) line(spans []span) (start, end int, ok bool) {
	first, last := spans[0], spans[len(spans)-1]
	start, end = b.base+int(first.off), b.base+int(last.off)+int(last.n)
	return start, end + 1, start <= end && end < len(b.raw) && b.raw[end] == '\n'
}

// put has span i stand for another text.
func (b *batch) put(i, width int, add func(side []byte) []byte) {
	at := len(b.side)
	b.side = add(b.side)
	b.spans[i] = span{uint32(at) | inSide, uint32(len(b.side) - at)}
	b.edited[i/width] = true
}

// clear has span i stand for a missing value.
func (b *batch) clear(i, width int) {
	if b.spans[i].n > 0 {
		b.spans[i].n = 0
		b.edited[i/width] = true
	}
}

// The rewriters hold where the guesses of the same kinds hold, and have the
// spans stand for the cells to write. Their vectors have a kind and no data.

type intRewriter struct{}

func (intRewriter) add(b *batch, col, width int) bool {
	for i := col; i < len(b.spans); i += width {
		cell := b.cell(b.spans[i])
		v, res := parseInt(cell)
		if res != okay {
			return false
		}
		if !canonicalInt(cell) {
			b.put(i, width, func(side []byte) []byte { return strconv.AppendInt(side, v, 10) })
		}
	}
	return true
}

func (intRewriter) finish() *vector { return kindIf(true, Int64) }

// kindIf returns a vector of a kind if the guess holds.
func kindIf(holds bool, kind Kind) *vector {
	if !holds {
		return nil
	}
	return &vector{kind: kind}
}

// canonicalInt reports whether the text of an integer is how it is written.
func canonicalInt(b []byte) bool {
	if len(b) > 1 && b[0] == '-' {
		return isDigit(b[1]) && b[1] != '0' && isDigit(b[len(b)-1])
	}
	return isDigit(b[0]) && isDigit(b[len(b)-1]) && (b[0] != '0' || len(b) == 1)
}

type floatRewriter struct {
	floatGuess
	text []byte // memory for a number
}

func (g *floatRewriter) add(b *batch, col, width int) bool {
	for i := col; i < len(b.spans); i += width {
		cell := b.cell(b.spans[i])
		if g.fractional && canonical(cell) {
			continue
		}
		d, ok := g.cell(cell)
		if !ok {
			return false
		}
		if d.f != d.f {
			b.clear(i, width)
			continue
		}
		g.text = AppendFloat(g.text[:0], d.f)
		if string(g.text) != string(cell) {
			b.put(i, width, func(side []byte) []byte { return append(side, g.text...) })
		}
	}
	return true
}

func (g *floatRewriter) finish() *vector { return kindIf(g.holds(), Float64) }

type boolRewriter struct {
	r    rules
	some bool
}

func (g *boolRewriter) add(b *batch, col, width int) bool {
	for i := col; i < len(b.spans); i += width {
		cell := b.cell(b.spans[i])
		if g.r.missing(cell) {
			b.clear(i, width)
			continue
		}
		v, ok := parseBool(cell)
		if !ok {
			return false
		}
		g.some = true
		if s := string(cell); s != "True" && s != "False" {
			b.put(i, width, func(side []byte) []byte { return appendBool(side, v) })
		}
	}
	return true
}

func (g *boolRewriter) finish() *vector { return kindIf(g.some, Bool) }

type textRewriter struct {
	textGuess
	quotes bool // the chunk may hold text that is quoted
}

func (g *textRewriter) add(b *batch, col, width int) bool {
	for i := col; i < len(b.spans); i += width {
		cell := b.cell(b.spans[i])
		if g.r.missing(cell) {
			b.clear(i, width)
			continue
		}
		if !g.sure && !g.decide(cell) {
			return false
		}
		if g.quotes && special(cell) {
			b.quote(i, width)
		}
	}
	return true
}

func (g *textRewriter) finish() *vector { return kindIf(g.sure, Text) }

// special reports whether a text is quoted when it is written.
func special(b []byte) bool {
	any := uint64(0)
	for ; len(b) > 0; b = b[min(8, len(b)):] {
		x := eightBytes(b)
		if len(b) < 8 {
			x <<= 64 - 8*len(b)
		}
		any |= firstZero(x^lowBits*'"') | firstZero(x^lowBits*',') | firstZero(x^lowBits*'\n')
	}
	return any != 0
}

// quote puts quotes around the text of span i.
func (b *batch) quote(i, width int) {
	s := b.spans[i]
	cell := b.cell(s)
	if from, to := b.base+int(s.off)-1, b.base+int(s.off)+int(s.n); s.off&inSide == 0 && bytes.IndexByte(cell, '"') < 0 &&
		from >= b.base && to < len(b.raw) && b.raw[from] == '"' && b.raw[to] == '"' {
		b.spans[i] = span{s.off - 1, s.n + 2}
		return
	}
	b.put(i, width, func(side []byte) []byte { return (*formatter)(nil).appendQuoted(side, cell) })
}
