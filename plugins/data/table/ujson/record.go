package ujson

import (
	"errors"
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

// cellKind is the kind of a member's value before pandas types its column.
type cellKind uint8

const (
	cellNull   cellKind = iota // null or NaN
	cellGap                    // the record lacks the member
	cellBool                   // bits 0 or 1
	cellInt                    // bits: an int64
	cellUint                   // bits: more than an int64 holds
	cellFloat                  // bits of the double
	cellText                   // src: the string with its quotes
	cellNested                 // src: a list or an object
)

// cell is the value of a member. src looks at the line that was read.
type cell struct {
	kind cellKind
	bits uint64
	src  []byte
}

// value returns the cell as a value of its own.
func (c cell) value() (pyjson.Value, error) {
	switch c.kind {
	case cellBool:
		return pyjson.OfBool(c.bits != 0), nil
	case cellInt, cellUint, cellFloat:
		return number{c.kind, c.bits}.value(), nil
	case cellText, cellNested:
		p := parser{data: c.src} // which was skimmed before
		return p.value()
	case cellGap:
		return pyjson.OfFloat(math.NaN()), nil
	}
	return pyjson.Value{}, nil
}

// Record is one line of JSON. The zero Record is empty; Read may be called
// again and again.
type Record struct {
	names []string
	cells []cell
	p     parser
}

// Read reads a line that holds an object, without the blanks around it. The
// record looks at the line until it reads another.
func (r *Record) Read(line []byte) error {
	r.names, r.cells = r.names[:0], r.cells[:0]
	p := &r.p
	p.data, p.pos, p.depth, p.skim = line, 0, 1, true
	if err := r.read(); err != nil {
		return p.fault(err)
	}
	return nil
}

func (r *Record) read() error {
	p := &r.p
	if err := p.valid(); err != nil {
		return err
	}
	if p.at(p.pos) != '{' {
		return errors.New("the line is no object")
	}
	err := p.members(func(text []byte) error {
		name := p.name(text)
		c, err := p.cell()
		if at := slices.Index(r.names, name); at >= 0 {
			r.cells[at] = c
		} else {
			r.names, r.cells = append(r.names, name), append(r.cells, c)
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.end()
}

func (p *parser) cell() (cell, error) {
	p.space()
	switch c := p.at(p.pos); c {
	case 't':
		return cell{kind: cellBool, bits: 1}, p.word("true")
	case 'f':
		return cell{kind: cellBool}, p.word("false")
	case 'n':
		return cell{}, p.word("null")
	case '"', '[', '{':
		start := p.pos
		_, err := p.value()
		kind := cellNested
		if c == '"' {
			kind = cellText
		}
		return cell{kind: kind, src: p.data[start:p.pos]}, err
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '-', 'I', 'N':
		n, err := p.number()
		return cell{kind: n.kind, bits: n.bits}, err
	}
	return cell{}, errValue
}

// find returns the record's cell of that name; hint is where it was last.
func (r *Record) find(name string, hint int) cell {
	if hint < len(r.names) && r.names[hint] == name {
		return r.cells[hint]
	}
	if at := slices.Index(r.names, name); at >= 0 {
		return r.cells[at]
	}
	return cell{kind: cellGap}
}
