package pyjson

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/table"
)

// Style says how a value is written. The zero Style is json.dump's default:
// one line, ", " and ": ", ASCII only, no newline at the end.
type Style struct {
	Indent   int  // indent=n if positive: one item a line, "," at line ends
	SortKeys bool // sort_keys=True
	Compact  bool // separators=(",", ":")
	Pandas   bool // as DataFrame.to_json: no blanks, "/" escaped, floats of ten decimals, null for NaN
}

// Append appends v in the given style.
func Append(b []byte, v Value, s Style) []byte { return s.value(b, v, 0) }

// Write writes v in the given style.
func Write(w io.Writer, v Value, s Style) error {
	if v.kind != Array || s.Indent > 0 {
		_, err := w.Write(Append(nil, v, s))
		return err
	}
	bw := bufio.NewWriterSize(w, 1<<16)
	var buf []byte
	bw.WriteByte('[')
	for i, x := range v.box.items {
		buf = buf[:0]
		if i > 0 {
			buf = s.comma(buf, 0)
		}
		bw.Write(Append(buf, x, s))
	}
	bw.WriteByte(']')
	return bw.Flush()
}

func (s Style) value(b []byte, v Value, depth int) []byte {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(b, v.bits != 0)
	case Int:
		if v.text != "" {
			return append(b, v.text...)
		}
		return strconv.AppendInt(b, int64(v.bits), 10)
	case Float:
		return s.float(b, math.Float64frombits(v.bits))
	case String:
		return s.str(b, v.text)
	case Array:
		return s.list(b, v, depth, '[', ']')
	case Object:
		return s.list(b, v, depth, '{', '}')
	}
	return append(b, "null"...)
}

func (s Style) float(b []byte, f float64) []byte {
	switch {
	case s.Pandas:
		return appendPandasFloat(b, f)
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	return table.AppendFloat(b, f)
}

// list appends an array or object.
func (s Style) list(b []byte, v Value, depth int, open, closing byte) []byte {
	b = append(b, open)
	for k, i := range s.order(v) {
		if k > 0 {
			b = s.comma(b, depth+1)
		} else {
			b = s.newline(b, depth+1)
		}
		if v.kind == Object {
			b = append(s.str(b, v.box.names[i]), ':')
			if !s.Compact && !s.Pandas {
				b = append(b, ' ')
			}
		}
		b = s.value(b, v.box.items[i], depth+1)
	}
	if v.Len() > 0 {
		b = s.newline(b, depth)
	}
	return append(b, closing)
}

// order returns the places of v's items in the order to write them.
func (s Style) order(v Value) []int {
	places := make([]int, v.Len())
	for i := range places {
		places[i] = i
	}
	if s.SortKeys && v.kind == Object {
		slices.SortFunc(places, func(i, j int) int { return strings.Compare(v.box.names[i], v.box.names[j]) })
	}
	return places
}

func (s Style) newline(b []byte, depth int) []byte {
	if s.Indent <= 0 {
		return b
	}
	b = append(b, '\n')
	for range depth * s.Indent {
		b = append(b, ' ')
	}
	return b
}

func (s Style) comma(b []byte, depth int) []byte {
	b = append(b, ',')
	if s.Indent > 0 {
		return s.newline(b, depth)
	}
	if !s.Compact && !s.Pandas {
		b = append(b, ' ')
	}
	return b
}

const hexDigits = "0123456789abcdef"

// str appends a string in ASCII.
func (s Style) str(b []byte, text string) []byte {
	b = append(b, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c < utf8.RuneSelf:
			b = s.ascii(b, c)
			i++
		default:
			r, n := decodeRune(text[i:])
			b = appendEscape(b, r)
			i += n
		}
	}
	return append(b, '"')
}

func (s Style) ascii(b []byte, c byte) []byte {
	if c == '/' && s.Pandas {
		return append(b, `\/`...)
	}
	if c >= ' ' && c != '"' && c != '\\' && (c != 0x7f || s.Pandas) {
		return append(b, c)
	}
	if i := strings.IndexByte("\"\\\b\f\n\r\t", c); i >= 0 {
		return append(b, '\\', `"\bfnrt`[i])
	}
	return appendEscape(b, rune(c))
}

// appendEscape appends \uXXXX, two of them beyond the basic plane.
func appendEscape(b []byte, r rune) []byte {
	if r >= 0x10000 {
		r -= 0x10000
		b = appendEscape(b, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return append(b, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// decodeRune reads a rune or a surrogate in three-byte form.
func decodeRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 && len(s) >= 3 && s[0] == 0xed && s[1] >= 0xa0 {
		return rune(s[0]&0x0f)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return r, n
}
