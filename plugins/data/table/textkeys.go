package table

import (
	"encoding/binary"
	"slices"
	"strings"
)

// introsortTexts returns the order of introsort for n strings. It compares
// integers instead, the keys or, if they are nil, some made of the bytes after the
// common prefix. The decisions are the same as long as different strings have
// different integers. If they do not, it starts again with the strings.
func introsortTexts(n int, text func(int) string, keys []uint64) []int32 {
	order := ascending(n)
	if n >= 1<<8 {
		if keys == nil {
			keys = textKeys(n, text)
		}
		if increasing(keys) {
			return order
		}
		introsort(keys, order)
		if !ambiguous(keys, order, text) {
			return order
		}
		order = ascending(n)
	}
	introsort(Collect(n, text), order)
	return order
}

func ascending(n int) []int32 { return Collect(n, func(i int) int32 { return int32(i) }) }

// increasing reports whether each key is greater than the one before.
func increasing(keys []uint64) bool {
	for k := 1; k < len(keys); k++ {
		if keys[k-1] >= keys[k] {
			return false
		}
	}
	return true
}

// ambiguous reports whether different strings have one key.
func ambiguous(keys []uint64, order []int32, text func(int) string) bool {
	for k := 1; k < len(order); k++ {
		if a, b := order[k-1], order[k]; keys[a] == keys[b] && text(int(a)) != text(int(b)) {
			return true
		}
	}
	return false
}

// textKeys returns the first eight bytes of the strings after their prefix.
func textKeys(n int, text func(int) string) []uint64 {
	keys := make([]uint64, n)
	if !setKeys(keys, text, commonPrefix(3, func(k int) string { return text(k * (n - 1) / 2) })) {
		setKeys(keys, text, commonPrefix(n, text))
	}
	return keys
}

// setKeys sets the keys to the first eight bytes after the prefix, missing ones as 0. It returns false
// if some string does not begin with the prefix.
func setKeys(keys []uint64, text func(int) string, prefix string) bool {
	for k := range keys {
		rest, ok := strings.CutPrefix(text(k), prefix)
		if !ok {
			return false
		}
		var first [8]byte
		copy(first[:], rest)
		keys[k] = binary.BigEndian.Uint64(first[:])
	}
	return true
}

// commonPrefix returns the longest prefix of all strings.
func commonPrefix(n int, text func(int) string) string {
	first := text(0)
	same := len(first)
	for k := 1; k < n; k++ {
		t := text(k)
		if same = min(same, len(t)); t[:same] == first[:same] {
			continue
		}
		for same = 0; t[same] == first[same]; {
			same++
		}
	}
	return first[:same]
}

// hexTexts are strings of one length that differ only in hexadecimal digits at
// one place: identifiers often do. They take eight or sixteen bytes each.
type hexTexts struct {
	before, after string
	digits        int      // between them, leastHex to mostHex
	low           []uint64 // the number that the last sixteen digits are
	high          []uint64 // the number that the digits before them are; nil if it is top in all
	top           uint64
}

const (
	leastHex = 8
	mostHex  = 32
	hexAbove = 12 // the least length of a string: shorter ones take no more as bytes
)

// newHexTexts returns space for n strings like the given one; nil if it has no
// digits, or too many.
func newHexTexts(text []byte, n int) *hexTexts {
	from, to := 0, 0
	for i, start := 0, 0; i <= len(text); i++ {
		if i < len(text) && strings.IndexByte("0123456789abcdef", text[i]) >= 0 {
			continue
		}
		if i-start > to-from {
			from, to = start, i
		}
		start = i + 1
	}
	if len(text) < hexAbove || to-from < leastHex || to-from > mostHex {
		return nil
	}
	h := &hexTexts{before: string(text[:from]), after: string(text[to:]), digits: to - from, low: make([]uint64, 0, n)}
	h.top, _, _ = hexNumber(text[from:to])
	return h
}

// read adds the string that fills the field at raw[at:] and returns where it ends,
// if it is like the others.
func (h *hexTexts) read(raw []byte, at int) (end int, ok bool) {
	from := at + len(h.before)
	to := from + h.digits
	if end = to + len(h.after); end >= len(raw) || string(raw[at:from]) != h.before || string(raw[to:end]) != h.after || raw[end] != ',' && raw[end] != '\n' {
		return at, false
	}
	high, low, ok := hexNumber(raw[from:to])
	if !ok {
		return at, false
	}
	if high != h.top && h.high == nil {
		h.high = make([]uint64, len(h.low), cap(h.low))
		for i := range h.high {
			h.high[i] = h.top
		}
	}
	h.low = append(h.low, low)
	if h.high != nil {
		h.high = append(h.high, high)
	}
	return end, true
}

// hexNumber returns the number of 8 to 32 digits: eight bytes are read at once, the
// first time for fewer digits, and then two, four and eight of them put together.
func hexNumber(b []byte) (high, low uint64, ok bool) {
	wrong := uint64(0)
	for n, step := 0, uint(len(b)-1)&7+1; n < len(b); n, step = n+int(step), 8 {
		x := binary.BigEndian.Uint64(b[n:])
		digit, letter := x^zeros, x^0x60*lowBits
		noDigit := digit + (0x80-10)*lowBits
		isLetter := (letter + 0x7f*lowBits) &^ (letter + (0x80-7)*lowBits)
		wrong |= x | noDigit&^isLetter
		x = x&(0x0f*lowBits) + x>>6&lowBits*9
		x = (x | x>>4) & 0x00ff00ff00ff00ff
		x = (x | x>>8) & 0x0000ffff0000ffff
		x = (x | x>>16) & 0xffffffff >> ((8 - step) * 4 & 31)
		high, low = high<<32|low>>32, low<<32|x
	}
	return high, low, wrong&highBits == 0
}

func (h *hexTexts) number(r int) (high, low uint64) {
	if h.high == nil {
		return h.top, h.low[r]
	}
	return h.high[r], h.low[r]
}

// bytes returns string r.
func (h *hexTexts) bytes(r int) []byte {
	b := make([]byte, 0, len(h.before)+h.digits+len(h.after))
	b = append(b, h.before...)
	high, low := h.number(r)
	for i := h.digits - 1; i >= 0; i-- {
		word := low
		if i >= 16 {
			word = high
		}
		b = append(b, "0123456789abcdef"[word>>(4*uint(i&15))&15])
	}
	return append(b, h.after...)
}

// size returns how much memory the strings would take as bytes.
func (h *hexTexts) size() int { return len(h.low) * (len(h.before) + h.digits + len(h.after) + 4) }

// like reports whether strings of both are equal if their numbers are.
func (h *hexTexts) like(o *hexTexts) bool {
	return h.before == o.before && h.after == o.after && h.digits == o.digits
}

// hexParts returns the strings of all cells of a column in order, if all are alike,
// and whether their low numbers tell them apart.
func (c *Column) hexParts() (parts []*hexTexts, exact bool) {
	n := 0
	for _, v := range c.parts() {
		if c.rows != nil || v.hex == nil || len(parts) > 0 && !v.hex.like(parts[0]) {
			return nil, false
		}
		parts, n = append(parts, v.hex), n+v.n
	}
	if n != c.n || n == 0 {
		return nil, false
	}
	return parts, !slices.ContainsFunc(parts, func(h *hexTexts) bool { return h.high != nil || h.top != parts[0].top })
}

// hexKeys returns the first sixteen digits of all strings, or all of fewer, as a
// number of their order.
func hexKeys(parts []*hexTexts, exact bool) []uint64 {
	var keys []uint64
	for _, h := range parts {
		for r := range h.low {
			high, low := h.number(r)
			if exact {
				high = low
			}
			keys = append(keys, high)
		}
	}
	return keys
}

// FirstUnlike returns the first row where two columns of strings, of one length,
// differ or one has no value; -1 if there is none.
func FirstUnlike(a, b *Column) int {
	var last, other *vector
	alike := false
	for i := range a.n {
		v, r := a.at(i)
		w, s := b.at(i)
		if v != last || w != other {
			last, other = v, w
			alike = r >= 0 && s >= 0 && v.hex != nil && w.hex != nil && v.hex.like(w.hex)
		}
		if alike {
			high, low := v.hex.number(r)
			if h, l := w.hex.number(s); h != high || l != low {
				return i
			}
			continue
		}
		if r < 0 || s < 0 || v.missing(r) || w.missing(s) || v.str(r) != w.str(s) {
			return i
		}
	}
	return -1
}
