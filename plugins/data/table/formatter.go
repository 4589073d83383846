package table

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
)

// formatter turns rows of a table into lines.
type formatter struct {
	t       *Table
	o       WriteOptions
	comma   byte
	special [256]bool // bytes that make minimal quoting quote a field
	na      []byte    // what stands for a missing value, quoted where needed
	float   floatFormat
	odd     bool // numbers may need quotes
	bare    bool // strings without quote, line feed and comma need none
	lines   *copier
}

func newFormatter(t *Table, o WriteOptions) (*formatter, error) {
	f := &formatter{t: t, o: o, comma: o.Comma}
	f.comma = cmp.Or(f.comma, ',')
	if f.comma == '"' || f.comma == '\n' || f.comma == '\r' || f.comma >= 0x80 {
		return nil, fmt.Errorf("%q cannot be a separator", rune(f.comma))
	}
	for _, c := range []byte{f.comma, '"', '\n'} {
		f.special[c] = true // not '\r': csv of Python up to 3.12 leaves it bare
	}
	var err error
	if f.float, err = parseFloatFormat(o.FloatFormat); err != nil {
		return nil, err
	}
	f.na = f.appendText(nil, nil)
	f.bare = f.comma == ',' && o.Quoting == QuoteMinimal
	f.odd = o.Quoting != QuoteMinimal || o.FloatFormat != "" || f.comma > '*' && f.comma != ',' && f.comma < 0x7f
	if f.comma == ',' && o.FloatFormat == "" {
		f.lines = newCopier(t, o.Quoting)
	}
	return f, nil
}

// header returns the header line.
func (f *formatter) header() []byte {
	if f.o.NoHeader {
		return nil
	}
	var b []byte
	width := len(f.t.cols)
	if f.o.Index {
		width++
		b = f.appendText(b, nil)
	}
	for i, c := range f.t.cols {
		if i > 0 || f.o.Index {
			b = append(b, f.comma)
		}
		b = f.appendText(b, []byte(c.name))
	}
	return f.endLine(b, 0, width)
}

// endLine ends the line that starts at b[start:]. A line whose only field is
// empty gets quotes, as else it would be a blank line.
func (f *formatter) endLine(b []byte, start, width int) []byte {
	if width == 1 && len(b) == start {
		b = append(b, '"', '"')
	}
	return append(b, '\n')
}

// appendText appends a string field.
func (f *formatter) appendText(b, text []byte) []byte {
	if f.o.Quoting == QuoteMinimal && !f.needsQuotes(text) {
		return append(b, text...)
	}
	return f.appendQuoted(b, text)
}

func (f *formatter) appendQuoted(b, text []byte) []byte {
	b = append(b, '"')
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			break
		}
		b = append(b, text[:i+1]...)
		b = append(b, '"')
		text = text[i+1:]
	}
	b = append(b, text...)
	return append(b, '"')
}

func (f *formatter) needsQuotes(text []byte) bool {
	for _, c := range text {
		if f.special[c] {
			return true
		}
	}
	return false
}

// quoteFrom puts quotes around the field that starts at b[start:] if the
// quoting style wants them.
func (f *formatter) quoteFrom(b []byte, start int, number bool) []byte {
	if f.o.Quoting == QuoteAll || f.o.Quoting == QuoteNonNumeric && !number ||
		f.o.Quoting == QuoteMinimal && f.needsQuotes(b[start:]) {
		return f.appendQuoted(b[:start], bytes.Clone(b[start:]))
	}
	return b
}

// rows appends rows lo up to hi.
func (f *formatter) rows(b []byte, lo, hi int) []byte {
	var fields [][]byte
	for at := lo; at < hi; at += warmRows {
		end := min(at+warmRows, hi)
		f.warm(at, end)
		for i := at; i < end; i++ {
			var line []byte
			if f.lines != nil {
				line = f.lines.line(i)
			}
			b, fields = f.row(b, i, line, fields)
		}
	}
	return b
}

// row appends row i, whose retained line is the given one, or empty if there is none; fields
// is memory for those of the line.
func (f *formatter) row(b []byte, i int, line []byte, fields [][]byte) ([]byte, [][]byte) {
	start, width := len(b), len(f.t.cols)
	if f.o.Index {
		width++
		b = f.quoteFrom(strconv.AppendInt(b, int64(i), 10), start, true)
	}
	if f.lines != nil {
		if f.lines.whole && len(line) > 0 {
			if f.o.Index {
				b = append(b, f.comma)
			}
			return append(b, line...), fields
		}
		fields = f.lines.cut(line, fields[:0])
	}
	for k, c := range f.t.cols {
		if k > 0 || f.o.Index {
			b = append(b, f.comma)
		}
		if f.lines != nil && f.lines.fields[k] >= 0 {
			b = f.appendRetained(b, fields[f.lines.fields[k]], c.kind)
			continue
		}
		v, r := c.at(i)
		b = f.appendCell(b, v, r, c.kind)
	}
	return f.endLine(b, start, width), fields
}

// appendCell appends place r of v, a part of a column of the given kind. As
// in pandas, the float format is not for numbers in Mixed columns; under
// QuoteNonNumeric a number in the float format counts as text.
func (f *formatter) appendCell(b []byte, v *vector, r int, kind Kind) []byte {
	if r < 0 || v.missing(r) {
		return append(b, f.na...)
	}
	start, number := len(b), true
	switch v.kind {
	case Int64:
		b = strconv.AppendInt(b, v.int(r), 10)
	case Uint64:
		b = strconv.AppendUint(b, v.uints[r], 10)
	case Float64:
		if kind == Mixed || f.float.verb == 0 {
			b = AppendFloat(b, v.float(r))
		} else {
			b, number = f.float.append(b, v.float(r)), false
		}
	case Bool:
		b = appendBool(b, bit(v.bits, r))
	case Text:
		if v.plain && f.bare {
			return append(b, v.bytes(r)...)
		}
		return f.appendText(b, v.bytes(r))
	default:
		return f.appendCell(b, v.union[v.tags[r]], int(v.slots[r]), Mixed)
	}
	if f.odd {
		return f.quoteFrom(b, start, number)
	}
	return b
}
