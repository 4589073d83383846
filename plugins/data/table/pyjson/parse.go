package pyjson

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

// maxDepth is how deep arrays and objects may nest.
const maxDepth = 1000

// maxDigits is how many digits Python lets an integer have.
const maxDigits = 4300

// Parse reads one value, as json.loads does.
func Parse(data []byte) (Value, error) { return newParser().parse(data) }

// ReadHead reads one value from r as Parse does, with a part of r in memory at a
// time. Of a list it reads the first count items and ignores the rest, unless
// count is 0.
func ReadHead(r io.Reader, count int) (Value, error) {
	p := newParser()
	p.head = count
	p.window = window{src: r, first: firstWindow}
	return p.whole()
}

// parse reads one value. What p learnt of names is kept for the next.
func (p *parser) parse(data []byte) (Value, error) {
	p.window = window{data: data}
	p.check()
	return p.whole()
}

// whole reads the value of the whole text.
func (p *parser) whole() (Value, error) {
	p.stack, p.names = p.stack[:0], p.names[:0]
	if len(p.shapes.list) > maxNames {
		p.shapes = newShapes()
	}
	v, err := p.document()
	if p.fault != nil {
		p.pos, err = len(p.data), p.fault
	}
	if err != nil {
		line, column := p.place()
		return Value{}, fmt.Errorf("parse JSON: line %d, byte %d: %w", line, column, err)
	}
	return v, nil
}

type parser struct {
	window
	buf    []byte
	stack  []Value // the items of the arrays and objects that are open
	names  []byte  // the numbers of the names of those objects
	shapes shapes
	arena  arena
	head   int  // so many items of the outermost list are enough; 0: all
	headed bool // and they were read
}

func newParser() *parser { return &parser{shapes: newShapes()} }

var (
	errEnd   = errors.New("the text ends within a value")
	errDepth = fmt.Errorf("nested deeper than %d", maxDepth)
)

func (p *parser) document() (Value, error) {
	for p.short(0) {
		continue
	}
	if p.has("\xef\xbb\xbf") {
		return Value{}, errors.New("a byte order mark comes before the value")
	}
	v, err := p.value(0)
	if err != nil || p.headed {
		return v, err
	}
	p.peek()
	if p.pos < len(p.data) {
		return v, errors.New("more text after the value")
	}
	return v, nil
}

func (p *parser) space() { p.pos = jsontoken.Space(p.data, p.pos) }

// peek skips blanks and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	for p.space(); p.short(p.pos); {
		p.space()
	}
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

func (p *parser) value(depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, errDepth
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		s, err := p.rawString()
		return OfString(p.arena.text(s)), err
	case c == '-' && !p.has("-I") || '0' <= c && c <= '9':
		return p.number()
	}
	for _, w := range words {
		if p.has(w.text) {
			p.pos += len(w.text)
			return w.value, nil
		}
	}
	if p.pos == len(p.data) {
		return Value{}, errEnd
	}
	return Value{}, errors.New("no value")
}

func (p *parser) has(s string) bool { return bytes.HasPrefix(p.data[p.pos:], []byte(s)) }

var words = []struct {
	text  string
	value Value
}{
	{"null", Value{}}, {"true", OfBool(true)}, {"false", OfBool(false)}, {"NaN", OfFloat(math.NaN())},
	{"Infinity", OfFloat(math.Inf(1))}, {"-Infinity", OfFloat(math.Inf(-1))},
}

func (p *parser) array(depth int) (Value, error) {
	start := len(p.stack)
	for more := p.open(']'); more; {
		v, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		p.stack = append(p.stack, v)
		if p.headed = depth == 0 && p.head > 0 && len(p.stack)-start == p.head; p.headed {
			return p.close(Array, nil, start), nil
		}
		if more, err = p.next(']'); err != nil {
			return v, err
		}
	}
	return p.close(Array, nil, start), nil
}

// open steps over an opening bracket and, of an empty list, over the closing one. It
// reports whether an item follows.
func (p *parser) open(closing byte) bool {
	p.pos++
	if p.peek() != closing {
		return true
	}
	p.pos++
	return false
}

// close makes a value of the items on the stack from start on.
func (p *parser) close(k Kind, s *shape, start int) Value {
	b := p.arena.box()
	b.shape, b.items = s, p.arena.items(p.stack[start:])
	clear(p.stack[start:])
	p.stack = p.stack[:start]
	return ofBox(k, b)
}

// next steps over a comma or the closing bracket and reports which it was.
func (p *parser) next(closing byte) (more bool, err error) {
	switch c := p.peek(); {
	case c == ',' || c == closing:
		p.pos++
		return c == ',', nil
	case p.pos == len(p.data):
		return false, errEnd
	}
	return false, fmt.Errorf("want a comma or %q", closing)
}

func (p *parser) object(depth int) (Value, error) {
	start, first := len(p.stack), len(p.names)
	for more := p.open('}'); more; {
		if p.peek() != '"' {
			return Value{}, errors.New("want a name in double quotes")
		}
		name, err := p.rawString()
		if err != nil {
			return Value{}, err
		}
		p.names = binary.LittleEndian.AppendUint32(p.names, p.shapes.name(name))
		if p.peek() != ':' {
			return Value{}, errors.New("want a colon")
		}
		p.pos++
		v, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		p.stack = append(p.stack, v)
		if more, err = p.next('}'); err != nil {
			return v, err
		}
	}
	return p.closeObject(start, first), nil
}

// closeObject makes an object of the items on the stack from start on and of the
// names from first on.
func (p *parser) closeObject(start, first int) Value {
	l := p.shapes.of(p.names[first:])
	p.names = p.names[:first]
	items := p.stack[start:]
	for i, place := range l.places {
		items[place] = items[i]
	}
	clear(items[len(l.shape.names):])
	p.stack = p.stack[:start+len(l.shape.names)]
	return p.close(Object, l.shape, start)
}

// rawString reads a string; the bytes are good until anything else is read.
func (p *parser) rawString() ([]byte, error) {
	for {
		start := p.pos
		if s, err := p.scanString(); !p.short(start) {
			return s, err
		}
	}
}

// scanString reads a string of which all is seen.
func (p *parser) scanString() ([]byte, error) {
	p.pos++
	start := p.pos
	for i := start; i < len(p.data); i++ {
		switch c := p.data[i]; {
		case c == '"':
			p.pos = i + 1
			return p.data[start:i], nil
		case c == '\\':
			p.buf = append(p.buf[:0], p.data[start:i]...)
			p.pos = i
			return p.escaped()
		case c < ' ':
			p.pos = i
			return nil, errors.New("a control character in a string")
		}
	}
	p.pos = len(p.data)
	return nil, errEnd
}

// escaped reads the rest of a string from its first backslash on.
func (p *parser) escaped() ([]byte, error) {
	for p.pos < len(p.data) {
		c := p.data[p.pos]
		switch {
		case c == '"':
			p.pos++
			return p.buf, nil
		case c < ' ':
			return nil, errors.New("a control character in a string")
		case c != '\\':
			p.buf = append(p.buf, c)
			p.pos++
			continue
		}
		if err := p.escape(); err != nil {
			return nil, err
		}
	}
	return nil, errEnd
}

func (p *parser) escape() error {
	if p.pos+1 == len(p.data) {
		return errEnd
	}
	c := p.data[p.pos+1]
	if c == 'u' {
		r, ok := Hex(p.data, p.pos+2)
		if !ok {
			return errors.New(`want four hexadecimal digits after \u`)
		}
		p.pos += 6
		if utf16.IsSurrogate(r) && p.has(`\u`) {
			if low, ok := Hex(p.data, p.pos+2); ok {
				if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
					r = full
					p.pos += 6
				}
			}
		}
		p.buf = AppendRune(p.buf, r)
		return nil
	}
	i := bytes.IndexByte([]byte(`"\/bfnrt`), c)
	if i < 0 {
		return fmt.Errorf("unknown escape \\%c", c)
	}
	p.buf = append(p.buf, "\"\\/\b\f\n\r\t"[i])
	p.pos += 2
	return nil
}

// Hex reads the four digits of an escape.
func Hex(data []byte, at int) (rune, bool) {
	if at+4 > len(data) {
		return 0, false
	}
	r := rune(0)
	for _, c := range data[at : at+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// AppendRune appends r in UTF-8, a surrogate in its three-byte form.
func AppendRune(b []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(b, r)
}
