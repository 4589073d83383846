package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
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
	d := &document{raw: raw, nodes: make([]node, 0, 64+len(raw)/64)}
	if at, err := d.locate(); err != nil {
		return nil, fmt.Errorf("%w at byte %d", err, at)
	}
	return d, nil
}

// passedOver accepts any valid JSON value and keeps nothing.
type passedOver struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*passedOver) UnmarshalJSON([]byte) error { return nil }

// locate fills in the nodes of a valid JSON text. It returns the position of what
// it refuses.
func (d *document) locate() (at int, err error) {
	var open []int32 // the nodes of the containers around
	var name jsontoken.Token
	for l := jsontoken.New(d.raw); l.Next(); {
		t := &l.Token
		switch {
		case t.Name:
			name = *t
		case t.Kind == ',':
		case t.Kind == ':':
			at = t.End
		case t.Kind == '}' || t.Kind == ']':
			index := open[t.Depth]
			open = open[:t.Depth]
			d.nodes[index].end, d.nodes[index].next = int32(t.End), int32(len(d.nodes))
			if err := d.unique(int(index)); err != nil {
				return t.End, err
			}
		default:
			if name.End == 0 {
				at = t.Start
			}
			if t.Depth > maxDepth {
				return at, fmt.Errorf("more than %d levels", maxDepth)
			}
			if len(d.nodes) == maxNodes {
				return at, fmt.Errorf("more than %d values", maxNodes)
			}
			if t.Kind == '{' || t.Kind == '[' {
				open = append(open, int32(len(d.nodes)))
			}
			d.nodes = append(d.nodes, node{kindOf(d.raw[t.Start]), int32(t.Start), int32(t.End), int32(name.Start), int32(name.End), int32(len(d.nodes) + 1)})
			name = jsontoken.Token{}
		}
	}
	return 0, nil
}

// kindOf returns the kind of a value that begins with a byte.
func kindOf(first byte) kind {
	switch first {
	case '{':
		return object
	case '[':
		return array
	case '"':
		return text
	case 't', 'f':
		return boolean
	case 'n':
		return null
	}
	return number
}

// unique refuses an object in which a name occurs twice: readers differ in
// which of the two members they use.
func (d *document) unique(index int) error {
	if d.nodes[index].kind != object {
		return nil
	}
	seen := map[string]bool{}
	for i := index + 1; i < len(d.nodes); i = int(d.nodes[i].next) {
		name := d.name(i)
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
	s, _ := jsontoken.Unquote(quoted)
	return s
}
