package pyjson

import (
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// Style says how a value is written. The zero Style is json.dump's default:
// one line, ", " and ": ", ASCII only, no newline at the end.
type Style struct {
	Indent   int  // indent=n if positive: one item a line, "," at line ends
	SortKeys bool // sort_keys=True
}

// Write writes v in the given style. It holds little of the text at a time.
func Write(w io.Writer, v Value, s Style) error {
	e := encoder{Style: s, w: w, b: make([]byte, 0, 2*flushAt)}
	e.value(v, 0)
	e.flush()
	return e.err
}

// flushAt is how many bytes are gathered before they are written.
const flushAt = 1 << 16

// encoder writes a value to w.
type encoder struct {
	Style
	w   io.Writer
	b   []byte
	err error
}

// flush writes the buffered bytes.
func (e *encoder) flush() {
	if e.err == nil {
		_, e.err = e.w.Write(e.b)
	}
	e.b = e.b[:0]
}

func (e *encoder) value(v Value, depth int) {
	switch v.kind {
	case Bool:
		e.b = strconv.AppendBool(e.b, v.bits != 0)
	case Int:
		if digits := v.digits(); digits != "" {
			e.b = append(e.b, digits...)
		} else {
			e.b = strconv.AppendInt(e.b, int64(v.bits), 10)
		}
	case Float:
		e.b = appendFloat(e.b, math.Float64frombits(v.bits))
	case String:
		e.b = AppendText(e.b, v.text(), false)
	case Array:
		e.array(v.box().items, depth)
	case Object:
		e.object(v.box(), depth)
	default:
		e.b = append(e.b, "null"...)
	}
	if len(e.b) >= flushAt {
		e.flush()
	}
}

func (e *encoder) array(items []Value, depth int) {
	e.b = append(e.b, '[')
	for i, v := range items {
		e.separate(i, depth+1)
		e.value(v, depth+1)
	}
	e.end(len(items), depth, ']')
}

func (e *encoder) object(o *box, depth int) {
	var places []int
	if e.SortKeys {
		places = o.shape.byName()
	}
	e.b = append(e.b, '{')
	for i := range o.items {
		e.separate(i, depth+1)
		at := i
		if places != nil {
			at = places[i]
		}
		e.b = append(AppendText(e.b, o.shape.names[at], false), ':', ' ')
		e.value(o.items[at], depth+1)
	}
	e.end(len(o.items), depth, '}')
}

// separate writes the separator and the indentation before item i.
func (e *encoder) separate(i, depth int) {
	if i > 0 {
		e.b = append(e.b, ',')
	}
	switch {
	case e.Indent > 0:
		e.newline(depth)
	case i > 0:
		e.b = append(e.b, ' ')
	}
}

// end closes an array or object of n items.
func (e *encoder) end(n, depth int, closing byte) {
	if n > 0 && e.Indent > 0 {
		e.newline(depth)
	}
	e.b = append(e.b, closing)
}

const blanks = "                                                                "

func (e *encoder) newline(depth int) {
	e.b = append(e.b, '\n')
	for n := depth * e.Indent; n > 0; n -= len(blanks) {
		e.b = append(e.b, blanks[:min(n, len(blanks))]...)
	}
}

func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	return table.AppendFloat(b, f)
}

const hexDigits = "0123456789abcdef"

// asIs are the characters that Python writes as they are, asIsButSlash those of
// pandas.
var asIs, asIsButSlash = func() (set, but [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		set[c] = c != '"' && c != '\\'
		but[c] = set[c] && c != '/'
	}
	but[0x7f] = true
	return set, but
}()

// AppendText appends a string in quotes and in ASCII. Slashes are escaped if asked.
func AppendText(b []byte, text string, slashes bool) []byte {
	set := &asIs
	if slashes {
		set = &asIsButSlash
	}
	b = append(b, '"')
	for i := 0; i < len(text); {
		start := i
		for i < len(text) && set[text[i]] {
			i++
		}
		b = append(b, text[start:i]...)
		switch {
		case i == len(text):
		case text[i] < utf8.RuneSelf:
			if at := strings.IndexByte("\"\\/\b\f\n\r\t", text[i]); at >= 0 {
				b = append(b, '\\', `"\/bfnrt`[at])
			} else {
				b = appendEscape(b, rune(text[i]))
			}
			i++
		default:
			r, n := decodeRune(text[i:])
			b = appendEscape(b, r)
			i += n
		}
	}
	return append(b, '"')
}

// appendEscape appends \u and four hexadecimal digits, twice beyond the basic plane.
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
