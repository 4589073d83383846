package table

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// cellwise reads a piece of a narrow table cell by cell, each into its column at
// once. It takes plain text only and returns false, with new builders, if there is
// something else in it.
func (p *parser) cellwise(c *chunk, builders []builder) bool {
	n := len(c.raw)
	if !p.bare(c) || c.raw[n-1] != '\n' || cap(c.raw) < n+wordBytes || bytes.IndexByte(c.raw, 0) >= 0 {
		return false
	}
	for _, b := range builders {
		if b == nil {
			return false
		}
	}
	if p.cellwiseRows(c, builders) {
		return true
	}
	for i := range builders {
		builders[i] = p.builder(i, c)
	}
	return false
}

func (p *parser) cellwiseRows(c *chunk, builders []builder) bool {
	raw, at, rows := c.raw[:len(c.raw)+wordBytes], 0, 0
	t := tokenizer{dialect: p.dialect, raw: c.raw}
	last := len(builders) - 1
	for ; at < len(c.raw); rows++ {
		if raw[at] <= ' ' {
			return false
		}
		for i, b := range builders {
			end, ok := at, false
			switch b := b.(type) {
			case *intGuess:
				end, ok = b.out.read(raw, at)
			case *floatGuess:
				end = t.fieldEnd(t.raw, at)
				ok = b.addCell(raw[at:end])
			case *textGuess:
				end, ok = b.read(&t, at, c.rows)
			}
			if !ok || raw[end] != ',' && i < last || raw[end] != '\n' && i == last {
				return false
			}
			at = end + 1
		}
	}
	c.fields = len(builders)
	return rows == c.rows
}

// read adds the integer at raw[at:], of which eight bytes can be read, and
// returns where it ends.
func (l *intList) read(raw []byte, at int) (end int, ok bool) {
	x := binary.LittleEndian.Uint64(raw[at:]) ^ zeros
	other := (x&^highBits + (0x80-10)*lowBits | x) & highBits
	n := bits.TrailingZeros64(other) / 8
	switch {
	case n == 1 && l.wide == nil:
		l.small = append(l.small, int8(x))
	case n > 0 && n < 8:
		l.add(int64(sumDigits(x << (64 - 8*n))))
	default:
		n = 0
		for c := raw[at]; isDigit(c) || c == '-' && n == 0; c = raw[at+n] {
			n++
		}
		v, res := parseInt(raw[at : at+n])
		if res != okay {
			return at, false
		}
		l.add(v)
	}
	return at + n, true
}
