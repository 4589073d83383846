package table

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// dialect holds the characters that separate fields and records.
type dialect struct {
	comma byte
	quote byte // 0: no quoting
}

func (d dialect) isQuote(c byte) bool { return c == '"' && d.quote != 0 }

// blankLine looks for a line without a record at raw[i:]: an empty line or
// one of blanks only. It returns where the next record starts. more is set
// when raw ends too early to tell and eof is not set.
func (d dialect) blankLine(raw []byte, i int, eof bool) (next int, blank, more bool) {
	for ; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\n':
			return i + 1, true, false
		case c == '\r':
			return d.afterBlankCR(raw, i+1, eof)
		case c != ' ' && c != '\t' || c == d.comma:
			return 0, false, false
		}
	}
	return i, true, !eof
}

// afterBlankCR ends a blank line that a carriage return closed. The C parser
// swallows a separator after it.
func (d dialect) afterBlankCR(raw []byte, i int, eof bool) (next int, blank, more bool) {
	if i == len(raw) {
		return i, true, !eof
	}
	if c := raw[i]; c == '\n' || c == d.comma {
		i++
	}
	return i, true, false
}

// span is a field: n bytes from off on, counted from the base of its batch;
// in the batch's side buffer if the top bit of off is set. If the top bit of n
// is set, it is a number.
type span struct{ off, n uint32 }

const inSide = 1 << 31

// batch is a few records cut into fields.
type batch struct {
	raw      []byte
	base     int
	side     []byte // fields whose quotes had to be undone
	spans    []span
	rows     int
	ends     []uint32  // of the records, counted from base
	edited   []bool    // rows of which not all is written as it was read
	patterns []pattern // by column
	alike    []int     // by column: columns from it on that have one pattern
}

func (b *batch) cell(s span) []byte {
	if s.off&inSide != 0 {
		off := int(s.off &^ inSide)
		return b.side[off : off+int(s.n)]
	}
	off := b.base + int(s.off)
	return b.raw[off : off+int(s.n)]
}

// longRow is a record with more fields than all before it in its chunk.
type longRow struct{ line, fields int }

// tokenizer cuts the records of raw, which holds whole records, into fields.
type tokenizer struct {
	dialect
	raw     []byte
	pos     int
	nul     bool // raw holds a NUL byte: fields end there
	plain   bool // raw holds no NUL, no carriage return and no quote that is one
	regular bool // raw is plain, and many cells are expected to have the batch's patterns
	open    bool // raw ended within quotes
	most    int  // fields that a record may have
	wide    bool // a record has more, of which most were read
	lines   int  // lines passed, records and blank ones
}

// record appends the fields of the next record to the batch and returns
// false at the end of raw.
func (t *tokenizer) record(b *batch) bool {
	for t.pos < len(t.raw) {
		c := t.raw[t.pos]
		if c > ' ' {
			break
		}
		next, blank, _ := t.blankLine(t.raw, t.pos, true)
		if !blank {
			break
		}
		// A last line of blanks without an end counts as none.
		t.pos = next
		t.lines++
	}
	if t.pos >= len(t.raw) {
		return false
	}
	t.lines++
	start := len(b.spans)
	if t.plain && !t.regular && t.plainFields(b, start) {
		return true
	}
	for {
		if t.regular {
			t.numbers(b, start)
		}
		if t.wide = len(b.spans)-start == t.most; t.wide || t.field(b) {
			return true
		}
	}
}

// plainFields appends the fields of a record, whose first span is the given
// one, in a file without quotes, NUL and carriage returns. It looks at eight
// bytes at once and returns false where fewer are left, with what it has done.
func (t *tokenizer) plainFields(b *batch, first int) bool {
	raw, from, spans := t.raw, t.pos, b.spans
	commas := lowBits * uint64(t.comma)
	for i := from; i+8 <= len(raw); i += 8 {
		x := binary.LittleEndian.Uint64(raw[i:])
		for ends := zeroBytes(x^commas) | zeroBytes(x^lowBits*'\n'); ends != 0; ends &= ends - 1 {
			at := i + bits.TrailingZeros64(ends)/8
			spans = append(spans, span{uint32(from - b.base), uint32(at - from)})
			from = at + 1
			if t.wide = raw[at] != '\n' && len(spans)-first == t.most; t.wide || raw[at] == '\n' {
				t.pos, b.spans = from, spans
				return true
			}
		}
	}
	t.pos, b.spans = from, spans
	return false
}

// zeroBytes returns the top bit of every byte of x that is zero.
func zeroBytes(x uint64) uint64 {
	const low = ^uint64(highBits)
	return ^((x&low + low) | x | low)
}

// firstZero returns bits of which the lowest is the top bit of the first byte of x that is
// zero.
func firstZero(x uint64) uint64 { return (x - lowBits) &^ x & highBits }

// field appends one field and reports whether the record ends with it.
func (t *tokenizer) field(b *batch) bool {
	if t.pos < len(t.raw) && t.isQuote(t.raw[t.pos]) {
		return t.quoted(b)
	}
	start := t.pos
	end := t.fieldEnd(t.raw, start)
	b.spans = append(b.spans, t.cut(b, start, end))
	return t.endField(end)
}

// indexByte is bytes.IndexByte, faster where c is near.
func indexByte(b []byte, c byte) int {
	if len(b) >= 8 {
		if is := firstZero(binary.LittleEndian.Uint64(b) ^ lowBits*uint64(c)); is != 0 {
			return bits.TrailingZeros64(is) / 8
		}
	}
	return bytes.IndexByte(b, c)
}

// eightBytes returns the first bytes of b and what is behind them, or zero bytes.
func eightBytes(b []byte) uint64 {
	if cap(b) >= 8 {
		return binary.LittleEndian.Uint64(b[:8])
	}
	var x [8]byte
	copy(x[:], b)
	return binary.LittleEndian.Uint64(x[:])
}

// cut returns the span of raw[start:end], which ends at a NUL.
func (t *tokenizer) cut(b *batch, start, end int) span {
	if t.nul {
		if i := bytes.IndexByte(t.raw[start:end], 0); i >= 0 {
			end = start + i
		}
	}
	return span{uint32(start - b.base), uint32(end - start)}
}

// endField skips the end of a field at i and reports whether the record ends
// there too.
func (t *tokenizer) endField(i int) bool {
	if i == len(t.raw) {
		t.pos = i
		return true
	}
	t.pos = i + 1
	if c := t.raw[i]; c != '\r' || c == t.comma {
		return c != t.comma
	}
	if t.pos < len(t.raw) && t.raw[t.pos] == '\n' {
		t.pos++
	}
	return true
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// fieldEnd returns the place of the first separator or line end from i on. It
// looks at eight bytes at once for one that is small enough.
func (d dialect) fieldEnd(raw []byte, i int) int {
	comma := d.comma
	limit := lowBits * uint64(min(max(comma, '\r')+1, 0x80))
	for i+8 <= len(raw) {
		x := binary.LittleEndian.Uint64(raw[i:])
		small := (x - limit) &^ x & highBits
		if small == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(small) / 8
		if c := raw[i]; c == comma || c == '\n' || c == '\r' {
			return i
		}
		i++
	}
	for ; i < len(raw); i++ {
		if c := raw[i]; c == comma || c == '\n' || c == '\r' {
			break
		}
	}
	return i
}

// quoted appends a field that starts with a quote: text up to the closing
// quote, in which two quotes stand for one, then plain text to its end.
func (t *tokenizer) quoted(b *batch) bool {
	start := t.pos + 1
	end := start + indexByte(t.raw[start:], t.quote)
	if end < start {
		t.open, t.pos = true, len(t.raw)
		b.spans = append(b.spans, span{})
		return true
	}
	if stop := end + 1; stop == len(t.raw) || t.raw[stop] == t.comma || t.raw[stop] == '\n' || t.raw[stop] == '\r' {
		b.spans = append(b.spans, t.cut(b, start, end))
		return t.endField(stop)
	}
	return t.escaped(b, start)
}

// escaped appends a quoted field whose text is not a piece of raw.
func (t *tokenizer) escaped(b *batch, i int) bool {
	side := len(b.side)
	for {
		n := bytes.IndexByte(t.raw[i:], t.quote)
		if n < 0 {
			t.open, t.pos = true, len(t.raw)
			b.spans = append(b.spans, span{})
			return true
		}
		b.side = append(b.side, t.raw[i:i+n]...)
		i += n + 1
		if i == len(t.raw) || t.raw[i] != t.quote {
			break
		}
		b.side = append(b.side, t.quote)
		i++
	}
	stop := t.fieldEnd(t.raw, i)
	b.side = append(b.side, t.raw[i:stop]...)
	text := b.side[side:]
	if n := bytes.IndexByte(text, 0); n >= 0 {
		text = text[:n]
	}
	b.spans = append(b.spans, span{uint32(side) | inSide, uint32(len(text))})
	return t.endField(stop)
}
