package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a request's JSON. A larger one is refused, so that it cannot keep
// this reader or the provider's busy.
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

// node is one value of a document. Nodes are in document order, each container
// before its content.
type node struct {
	kind kind
	// start and end delimit the value in the document. keyStart and keyEnd
	// delimit its name, quotes included; both are 0 without a name.
	start, end       int32
	keyStart, keyEnd int32
	// next is the index of the first node after this value and its content.
	next int32
}

// document is a JSON text that every reader following RFC 8259 reads the same
// way. Names are unique, the text is UTF-8 without a byte order mark, and
// nothing follows the value.
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
	var wrong *json.SyntaxError
	if err := json.Unmarshal(raw, &passedOver{}); errors.As(err, &wrong) {
		return nil, fmt.Errorf("%w at byte %d", err, wrong.Offset)
	} else if err != nil {
		return nil, err
	}
	p := &parser{document: &document{raw: raw, nodes: make([]node, 0, 64+len(raw)/64)}}
	if err := p.value(0, 0, 0); err != nil {
		return nil, fmt.Errorf("%w at byte %d", err, p.at)
	}
	return p.document, nil
}

// passedOver accepts any valid JSON value and keeps nothing.
type passedOver struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*passedOver) UnmarshalJSON([]byte) error { return nil }

// parser locates the values of a valid JSON text.
type parser struct {
	*document
	at int
}

// next skips spaces and returns the next byte, or 0 at the end.
func (p *parser) next() byte {
	for p.at < len(p.raw) && strings.IndexByte(" \t\n\r", p.raw[p.at]) >= 0 {
		p.at++
	}
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
	index, k, err := len(p.nodes), null, error(nil)
	first := p.next()
	p.nodes = append(p.nodes, node{start: int32(p.at), keyStart: keyStart, keyEnd: keyEnd})
	switch first {
	case '{', '[':
		k = array
		if first == '{' {
			k = object
		}
		err = p.content(depth, first == '{')
	case '"':
		k = text
		p.text()
	default:
		switch first {
		case 't', 'f':
			k = boolean
		case 'n':
		default:
			k = number
		}
		for p.at < len(p.raw) && strings.IndexByte(" \t\n\r,]}", p.raw[p.at]) < 0 {
			p.at++
		}
	}
	n := &p.nodes[index]
	n.kind, n.end, n.next = k, int32(p.at), int32(len(p.nodes))
	return err
}

// content reads the items of an array or the members of an object.
func (p *parser) content(depth int, named bool) error {
	index := len(p.nodes) - 1
	for p.at++; ; p.at++ {
		if c := p.next(); c == '}' || c == ']' {
			p.at++
			return nil // empty
		}
		var start, end int
		if named {
			start = p.at
			p.text()
			end = p.at
			p.next()
			p.at++ // the colon
		}
		if err := p.value(depth+1, int32(start), int32(end)); err != nil {
			return err
		}
		if p.next() != ',' {
			break
		}
	}
	p.at++
	if named {
		return p.unique(index)
	}
	return nil
}

// text skips a string.
func (p *parser) text() {
	for p.at++; p.raw[p.at] != '"'; p.at++ {
		if p.raw[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
}

// unique refuses an object in which a name occurs twice: readers differ in
// which of the two members they use.
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

// bytes returns the bytes of a value in the document.
func (d *document) bytes(i int) []byte { return d.raw[d.nodes[i].start:d.nodes[i].end] }

// name returns the decoded name of a member.
func (d *document) name(i int) string {
	return unquote(d.raw[d.nodes[i].keyStart:d.nodes[i].keyEnd])
}

// text returns the value of a string, or "" for any other value.
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

// unquote decodes a valid JSON string.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if slices.Contains(inner, '\\') {
		var s string
		_ = json.Unmarshal(quoted, &s)
		return s
	}
	return string(inner)
}
