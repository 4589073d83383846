package table

import (
	"encoding/binary"
	"math"
)

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
