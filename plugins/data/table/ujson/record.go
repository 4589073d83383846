package ujson

import (
	"errors"
	"math"
	"slices"
	"strconv"

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
	if c.kind == cellText || c.kind == cellNested {
		p := parser{data: c.src} // which was skimmed before
		return p.value()
	}
	return c.scalar(), nil
}

// scalar is value for cells without src.
func (c cell) scalar() pyjson.Value {
	switch c.kind {
	case cellBool:
		return pyjson.OfBool(c.bits != 0)
	case cellInt:
		return pyjson.OfInt(int64(c.bits))
	case cellUint:
		return pyjson.OfUint(c.bits)
	case cellFloat:
		return pyjson.OfFloat(math.Float64frombits(c.bits))
	case cellGap:
		return pyjson.OfFloat(math.NaN())
	}
	return pyjson.Value{}
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
	kind := cellNested
	switch p.at(p.pos) {
	case '"':
		kind = cellText
	case '[', '{':
	default:
		return p.scalar()
	}
	start := p.pos
	_, err := p.value()
	return cell{kind: kind, src: p.data[start:p.pos]}, err
}

// scalar reads null, a boolean or a number.
func (p *parser) scalar() (cell, error) {
	switch p.at(p.pos) {
	case 't':
		return cell{kind: cellBool, bits: 1}, p.word("true")
	case 'f':
		return cell{kind: cellBool}, p.word("false")
	case 'n':
		return cell{}, p.word("null")
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '-', 'I', 'N':
		return p.number()
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

func ofFloat(f float64) cell { return cell{kind: cellFloat, bits: math.Float64bits(f)} }

// number reads a number as ujson does: null for NaN, an integer of 64 bits with or without
// sign, or a double. Digits may be missing everywhere: "-" is 0, "1." and "1e" are 1.0.
func (p *parser) number() (cell, error) {
	sign, negative := 1.0, p.at(p.pos) == '-'
	if negative {
		sign = -1
		p.pos++
	}
	switch c := p.at(p.pos); {
	case c == 'I':
		return ofFloat(math.Inf(int(sign))), p.word("Infinity")
	case c == 'N' && !negative:
		return cell{}, p.word("NaN")
	}
	whole, err := p.whole(negative)
	if err != nil {
		return cell{}, err
	}
	switch p.at(p.pos) {
	case '.':
		p.pos++
		fraction, count := p.fraction()
		return ofFloat(p.exponent(float64(float64(whole)+float64(fraction*tenths[count])) * sign)), nil
	case 'e', 'E':
		return ofFloat(p.exponent(float64(whole) * sign)), nil
	}
	if !negative && whole>>63 != 0 {
		return cell{kind: cellUint, bits: whole}, nil
	}
	if negative {
		whole = -whole
	}
	return cell{kind: cellInt, bits: whole}, nil
}

// whole reads the integer part. It overflows unseen where the wrapped number
// is not smaller than the one before, or, negative, not beyond an int64.
func (p *parser) whole(negative bool) (uint64, error) {
	n := uint64(0)
	for ; p.at(p.pos)-'0' < 10; p.pos++ {
		next := n*10 + uint64(p.data[p.pos]-'0')
		if negative && next > 1<<63 || !negative && next < n {
			return 0, errors.New("a number of more than 64 bits")
		}
		n = next
	}
	return n, nil
}

// fraction reads decimals, of which 15 count.
func (p *parser) fraction() (f float64, count int) {
	for ; p.at(p.pos)-'0' < 10; p.pos++ {
		if count < len(tenths)-1 {
			f = float64(f*10) + float64(p.data[p.pos]-'0')
			count++
		}
	}
	return f, count
}

// exponent reads an exponent, if there is one, and scales f by it.
func (p *parser) exponent(f float64) float64 {
	if p.at(p.pos)|0x20 != 'e' {
		return f
	}
	p.pos++
	sign := 1
	if c := p.at(p.pos); c == '-' || c == '+' {
		if c == '-' {
			sign = -1
		}
		p.pos++
	}
	e := 0
	for ; p.at(p.pos)-'0' < 10; p.pos++ {
		e = min(e*10+int(p.data[p.pos]-'0'), 1<<20)
	}
	return f * power(sign*e)
}

// power returns ten to the power e as the pow of the C library (glibc 2.28 and
// later) does: the nearest double, but the next one for 23 and 210.
func power(e int) float64 {
	f, _ := strconv.ParseFloat("1e"+strconv.Itoa(e), 64)
	if e == 23 || e == 210 {
		return math.Nextafter(f, math.Inf(1))
	}
	return f
}

var tenths = [...]float64{1, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15}
