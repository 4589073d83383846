package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Bounds of a request's JSON. Beyond them it is refused, so that neither this
// reader nor the provider's can be made to work without end.
const (
	maxDepth = 200
	maxNodes = 1 << 20
)

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// node is one value of a document. Values are in a row, each container before
// its content.
type node struct {
	kind kind
	// start and end are the value's place in the document, keyStart and keyEnd
	// that of its name, quotes included; both 0 without one.
	start, end       int32
	keyStart, keyEnd int32
	// next is the index of the value that follows this one and its content.
	next int32
}

// document is a JSON text, read strictly: no reader that follows RFC 8259 can
// find something else in it. Names are unique, the text is UTF-8 without a byte
// order mark, and nothing follows the value.
type document struct {
	raw   []byte
	nodes []node
}

// parse reads a JSON text.
func parse(raw []byte) (*document, error) {
	if len(raw) > 1<<30 {
		return nil, errors.New("it is too large")
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("it is not UTF-8")
	}
	p := &parser{document: &document{raw: raw, nodes: make([]node, 0, 64+len(raw)/64)}}
	p.space()
	if err := p.value(0, 0, 0); err != nil {
		return nil, fmt.Errorf("%w at byte %d", err, p.at)
	}
	p.space()
	if p.at != len(raw) {
		return nil, fmt.Errorf("something follows the JSON value at byte %d", p.at)
	}
	return p.document, nil
}

type parser struct {
	*document
	at int
}

func (p *parser) space() {
	for p.at < len(p.raw) {
		switch p.raw[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at == len(p.raw) {
		return 0
	}
	return p.raw[p.at]
}

func (p *parser) value(depth int, keyStart, keyEnd int32) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d levels", maxDepth)
	}
	if len(p.nodes) == maxNodes {
		return fmt.Errorf("more than %d values", maxNodes)
	}
	index := len(p.nodes)
	p.nodes = append(p.nodes, node{start: int32(p.at), keyStart: keyStart, keyEnd: keyEnd})
	k, err := null, error(nil)
	switch c := p.peek(); {
	case c == '{':
		k, err = object, p.object(depth)
	case c == '[':
		k, err = array, p.array(depth)
	case c == '"':
		k, err = text, p.text()
	case c == '-' || c >= '0' && c <= '9':
		k, err = number, p.number()
	case c == 't':
		k, err = boolean, p.word("true")
	case c == 'f':
		k, err = boolean, p.word("false")
	case c == 'n':
		err = p.word("null")
	default:
		err = errors.New("no JSON value")
	}
	n := &p.nodes[index]
	n.kind, n.end, n.next = k, int32(p.at), int32(len(p.nodes))
	return err
}

func (p *parser) word(w string) error {
	if len(p.raw)-p.at < len(w) || string(p.raw[p.at:p.at+len(w)]) != w {
		return errors.New("no JSON value")
	}
	p.at += len(w)
	return nil
}

func (p *parser) array(depth int) error {
	p.at++
	p.space()
	if p.peek() == ']' {
		p.at++
		return nil
	}
	for {
		p.space()
		if err := p.value(depth+1, 0, 0); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			p.at++
			return nil
		default:
			return errors.New("an array without an end")
		}
	}
}

func (p *parser) object(depth int) error {
	index := len(p.nodes) - 1
	p.at++
	p.space()
	if p.peek() == '}' {
		p.at++
		return nil
	}
	for {
		p.space()
		start := p.at
		if p.peek() != '"' {
			return errors.New("an object without a name")
		}
		if err := p.text(); err != nil {
			return err
		}
		end := p.at
		p.space()
		if p.peek() != ':' {
			return errors.New("a name without a value")
		}
		p.at++
		p.space()
		if err := p.value(depth+1, int32(start), int32(end)); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case ',':
			p.at++
		case '}':
			p.at++
			return p.unique(index)
		default:
			return errors.New("an object without an end")
		}
	}
}

// unique refuses an object in which a name is twice: readers differ in which
// one they believe.
func (p *parser) unique(index int) error {
	seen := map[string]bool{}
	for i := index + 1; i < len(p.nodes); i = int(p.nodes[i].next) {
		name := p.name(i)
		if seen[name] {
			return fmt.Errorf("the name %q is twice in an object", name)
		}
		seen[name] = true
	}
	return nil
}

func (p *parser) text() error {
	for p.at++; p.at < len(p.raw); p.at++ {
		switch c := p.raw[p.at]; {
		case c == '"':
			p.at++
			return nil
		case c < ' ':
			return errors.New("a control character in a string")
		case c == '\\':
			if err := p.escape(); err != nil {
				return err
			}
		}
	}
	return errors.New("a string without an end")
}

func (p *parser) escape() error {
	p.at++
	switch p.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			p.at++
			if c := p.peek() | 0x20; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return errors.New("an escape that is no character")
			}
		}
		return nil
	}
	return errors.New("an escape that is no character")
}

func (p *parser) number() error {
	digits := func() bool {
		start := p.at
		for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
			p.at++
		}
		return p.at > start
	}
	if p.peek() == '-' {
		p.at++
	}
	whole := true
	if p.peek() == '0' {
		p.at++
	} else {
		whole = digits()
	}
	if whole && p.peek() == '.' {
		p.at++
		whole = digits()
	}
	if whole && (p.peek() == 'e' || p.peek() == 'E') {
		p.at++
		if p.peek() == '+' || p.peek() == '-' {
			p.at++
		}
		whole = digits()
	}
	if !whole {
		return errors.New("a number without digits")
	}
	return nil
}

// bytes are those of a value, as they are in the document.
func (d *document) bytes(i int) []byte { return d.raw[d.nodes[i].start:d.nodes[i].end] }

// name is the name of a member.
func (d *document) name(i int) string {
	return unquote(d.raw[d.nodes[i].keyStart:d.nodes[i].keyEnd])
}

// text is the value of a string, "" for anything else.
func (d *document) text(i int) string {
	if d.nodes[i].kind != text {
		return ""
	}
	return unquote(d.bytes(i))
}

// children yields the items of an array or the members of an object.
func (d *document) children(i int) func(func(int) bool) {
	return func(yield func(int) bool) {
		if k := d.nodes[i].kind; k != array && k != object {
			return
		}
		for c := int32(i + 1); c < d.nodes[i].next; c = d.nodes[c].next {
			if !yield(int(c)) {
				return
			}
		}
	}
}

// unquote decodes a string that was read.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	for _, c := range inner {
		if c == '\\' {
			var s string
			_ = json.Unmarshal(quoted, &s)
			return s
		}
	}
	return string(inner)
}
