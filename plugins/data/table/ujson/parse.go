package ujson

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

// maxDepth is how deep arrays and objects may nest in a line: one less than
// ujson allows, since pandas reads the lines as the items of one array.
const maxDepth = 1023

// parser reads one value, as ujson_loads(text, precise_float=False) does. Whole
// numbers stay integers; those beyond 64 bits are refused unless their
// digits happen to wrap unseen. NaN is null. With skim set it only finds out where values end.
type parser struct {
	data  []byte
	pos   int
	depth int
	skim  bool
	buf   []byte
	names map[string]string // one copy of every name
}

var (
	errValue  = errors.New("no value")
	errString = errors.New("a text without its closing quote")
)

func (p *parser) fault(err error) error { return fmt.Errorf("parse JSON: byte %d: %w", p.pos+1, err) }

// valid refuses bytes that are not UTF-8.
func (p *parser) valid() error {
	if bad := table.InvalidUTF8(p.data); bad >= 0 {
		p.pos = bad
		return errors.New("not UTF-8")
	}
	return nil
}

// end makes sure that only blanks follow.
func (p *parser) end() error {
	if p.space(); p.pos < len(p.data) {
		return errors.New("more text after the value")
	}
	return nil
}

func (p *parser) space() { p.pos = jsontoken.Space(p.data, p.pos) }

// at returns the byte at i, 0 after the end.
func (p *parser) at(i int) byte {
	if i < len(p.data) {
		return p.data[i]
	}
	return 0
}

// value reads a value after blanks.
func (p *parser) value() (pyjson.Value, error) {
	p.space()
	switch p.at(p.pos) {
	case '"':
		text, err := p.text()
		if err != nil || p.skim {
			return pyjson.Value{}, err
		}
		return pyjson.OfString(string(text)), nil
	case '[':
		return p.nested((*parser).array)
	case '{':
		return p.nested((*parser).object)
	}
	c, err := p.scalar()
	return c.scalar(), err
}

func (p *parser) word(w string) error {
	if !bytes.HasPrefix(p.data[p.pos:], []byte(w)) {
		return fmt.Errorf("want %s", w)
	}
	p.pos += len(w)
	return nil
}

func (p *parser) nested(read func(*parser) (pyjson.Value, error)) (pyjson.Value, error) {
	if p.depth++; p.depth > maxDepth {
		return pyjson.Value{}, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	v, err := read(p)
	p.depth--
	return v, err
}

func (p *parser) array() (pyjson.Value, error) {
	p.pos++
	var items []pyjson.Value
	p.space()
	for more := p.at(p.pos) != ']'; more; {
		v, err := p.value()
		if err != nil {
			return v, err
		}
		if !p.skim {
			items = append(items, v)
		}
		if p.space(); p.at(p.pos) == ',' {
			p.pos++
		} else if more = false; p.at(p.pos) != ']' {
			return v, errors.New("want a comma or ]")
		}
	}
	p.pos++
	return pyjson.OfArray(items...), nil
}

func (p *parser) object() (pyjson.Value, error) {
	var members []pyjson.Member
	err := p.members(func(text []byte) error {
		if p.skim {
			_, err := p.value()
			return err
		}
		name := p.name(text)
		v, err := p.value()
		members = append(members, pyjson.Member{Name: name, Value: v})
		return err
	})
	if err != nil || p.skim {
		return pyjson.Value{}, err
	}
	return pyjson.OfObject(members...), nil
}

// members walks over an object; member reads the value of each name, which is
// good until it reads.
func (p *parser) members(member func(name []byte) error) error {
	p.pos++
	for {
		if p.space(); p.at(p.pos) == '}' { // also after a comma
			p.pos++
			return nil
		}
		if p.at(p.pos) != '"' {
			return errors.New("want a name in double quotes")
		}
		name, err := p.text()
		if err != nil {
			return err
		}
		if p.space(); p.at(p.pos) != ':' {
			return errors.New("want a colon")
		}
		p.pos++
		if err := member(name); err != nil {
			return err
		}
		if p.space(); p.at(p.pos) == ',' {
			p.pos++
		} else if p.at(p.pos) != '}' {
			return errors.New("want a comma or }")
		}
	}
}

// name returns a copy of a name that equal ones share.
func (p *parser) name(b []byte) string {
	if known, ok := p.names[string(b)]; ok {
		return known
	}
	if p.names == nil {
		p.names = map[string]string{}
	}
	name := string(b)
	if len(p.names) < 1<<16 {
		p.names[name] = name
	}
	return name
}

// text reads a string; the bytes are good until the next one.
func (p *parser) text() ([]byte, error) {
	p.pos++
	start := p.pos
	end, err := p.plain(&quote{})
	switch {
	case err != nil:
		return nil, err
	case p.data[end] == '"':
		p.pos = end + 1
		return p.data[start:end], nil
	}
	p.pos = start
	return p.escaped()
}

// quote is the place of the next quote, once it was looked for.
type quote struct{ at int }

// plain returns where the plain characters from pos on end: at a quote or a
// backslash.
func (p *parser) plain(next *quote) (int, error) {
	if next.at <= p.pos {
		n := bytes.IndexByte(p.data[p.pos:], '"')
		if n < 0 {
			return 0, errString
		}
		next.at = p.pos + n
	}
	run := p.data[p.pos:next.at]
	if n := bytes.IndexByte(run, '\\'); n >= 0 {
		run = run[:n]
	}
	if bytes.IndexByte(run, 0) >= 0 {
		return 0, errString
	}
	return p.pos + len(run), nil
}

// escaped reads the rest of a string with backslashes. A high surrogate waits
// for the next \u escape, however far away, and is lost where none comes.
func (p *parser) escaped() ([]byte, error) {
	p.buf = slices.Grow(p.buf[:0], len(p.data)-p.pos)
	high := rune(0)
	var next quote
	for {
		end, err := p.plain(&next)
		if err != nil {
			return nil, err
		}
		p.buf = append(p.buf, p.data[p.pos:end]...)
		p.pos = end
		if p.data[end] == '"' {
			p.pos++
			return p.buf, nil
		}
		if err := p.escape(&high); err != nil {
			return nil, err
		}
	}
}

func (p *parser) escape(high *rune) error {
	c := p.at(p.pos + 1)
	if c == 'u' {
		return p.unicode(high)
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		return errors.New("unknown escape")
	}
	p.buf = append(p.buf, "\"\\/\b\f\n\r\t"[i])
	p.pos += 2
	return nil
}

func (p *parser) unicode(high *rune) error {
	r, ok := pyjson.Hex(p.data, p.pos+2)
	if !ok {
		return errors.New(`want four hexadecimal digits after \u`)
	}
	switch {
	case *high != 0:
		full := utf16.DecodeRune(*high, r)
		if full == utf8.RuneError {
			return errors.New("a high surrogate without a low one")
		}
		p.buf = utf8.AppendRune(p.buf, full)
		*high = 0
	case r&0xfc00 == 0xd800:
		*high = r
	default:
		p.buf = pyjson.AppendRune(p.buf, r)
	}
	p.pos += 6
	return nil
}
