package table

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	lazy "github.com/mleflow/mleflow/cache/leaf/pattern"
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

// copier finds the cells that can be copied from retained lines.
type copier struct {
	of     *Column // the first column that has retained lines
	fields []int   // by column of the table: its place in these lines, -1 if it must be formatted
	last   int     // the last place
	whole  bool    // a line is all of the row
	ahead  int     // how much of a line is fetched ahead
}

// newCopier returns nil if no column of t has retained lines.
func newCopier(t *Table, q Quoting) *copier {
	at := slices.IndexFunc(t.cols, func(c *Column) bool { return c.retained != nil })
	if at < 0 {
		return nil
	}
	l := &copier{of: t.cols[at], fields: make([]int, len(t.cols)), whole: q == QuoteMinimal && len(t.cols) > 1}
	for i, c := range t.cols {
		l.fields[i] = -1
		if c.retained != nil && c.retained.retained == l.of.retained.retained && c.same(l.of) {
			l.fields[i] = c.retained.field
		}
		l.last = max(l.last, l.fields[i])
		l.whole = l.whole && l.fields[i] == i
	}
	l.whole = l.whole && len(t.cols) == len(l.of.retained.kinds)
	if l.of.retained.window != nil {
		return l
	}
	some := l.of.retained.chunks[0]
	l.ahead = min(len(some.text)/len(some.starts)+64, warmBytes)
	return l
}

// line returns the line of row i, nil for a row of missing values.
func (l *copier) line(i int) []byte {
	r := l.of.row(i)
	if r < 0 {
		return nil
	}
	lines, at := l.of.retained.chunks[r>>l.of.shift], r&(1<<l.of.shift-1)
	return lines.text[lines.starts[at]:lines.starts[at+1]]
}

// cut appends the fields of a line, as far as they are needed.
func (l *copier) cut(line []byte, fields [][]byte) [][]byte {
	var field []byte
	for range l.last + 1 {
		field = nil
		if len(line) > 0 {
			field, line = cutField(line)
		}
		fields = append(fields, field)
	}
	return fields
}

// warm touches the lines of scattered rows, see formatter.warm.
func (l *copier) warm(lo, hi int) (seen int) {
	if l.of.rows == nil {
		return 0
	}
	var starts [warmRows]uint32
	rows, shift := l.of.rows[lo:hi], l.of.shift
	if span := rows[len(rows)-1] - rows[0]; 0 <= span && span < 16*warmRows {
		return 0 // most likely in order, which the processor notices
	}
	for k, r := range rows {
		starts[k] = l.of.retained.chunks[max(r, 0)>>shift].starts[max(r, 0)&(1<<shift-1)]
	}
	for k, r := range rows {
		text := l.of.retained.chunks[max(r, 0)>>shift].text[starts[k]:]
		for at := 0; at < min(len(text), l.ahead); at += 64 {
			seen += int(text[at])
		}
	}
	return seen
}

// warmBytes is the most of a line that is fetched ahead; the processor fetches
// the rest itself. It is the same for all lines, though some are
// shorter: guesses at when a loop ends, if wrong, cost more than a touch.
const warmBytes = 256

// appendRetained appends a field of a retained line.
func (f *formatter) appendRetained(b, field []byte, kind Kind) []byte {
	switch {
	case len(field) == 0:
		return append(b, f.na...)
	case f.o.Quoting == QuoteMinimal, field[0] == '"', f.o.Quoting == QuoteNonNumeric && kind != Text:
		return append(b, field...)
	}
	return append(append(append(b, '"'), field...), '"')
}

// floatFormat writes floats by a C format, or as FormatFloat where it is nil.
type floatFormat struct {
	prefix, suffix string
	verb           byte // 0: FormatFloat; else one of e f g E F G
	precision      int
}

// parseFloatFormat reads a format such as "%.10g": text, %, an optional
// precision and one of the verbs e, f and g.
func parseFloatFormat(s string) (floatFormat, error) {
	if s == "" {
		return floatFormat{}, nil
	}
	m := floatFormats.Regexp().FindStringSubmatch(s)
	if m == nil {
		return floatFormat{}, fmt.Errorf("float format %q: want a form such as %%.6f or %%.10g", s)
	}
	f := floatFormat{prefix: m[1], precision: 6, verb: m[3][0], suffix: m[4]}
	if m[2] != "" {
		f.precision, _ = strconv.Atoi("0" + m[2][1:])
	}
	return f, nil
}

var floatFormats = lazy.New(`(?s)^([^%]*)%(\.0*(?:|[0-9]{1,3}|1000))?([efgEFG])([^%]*)$`)

func (f floatFormat) append(b []byte, v float64) []byte {
	b = append(b, f.prefix...)
	b = AppendFormat(b, v, f.verb, f.precision)
	return append(b, f.suffix...)
}

// AppendFormat appends v as C's printf does with the verb e, f or g, in either
// case, and the precision.
func AppendFormat(b []byte, v float64, verb byte, precision int) []byte {
	lower := verb | 0x20
	start := len(b)
	switch {
	case math.IsInf(v, 1):
		b = append(b, "inf"...)
	case math.IsInf(v, -1):
		b = append(b, "-inf"...)
	case math.IsNaN(v):
		b = append(b, "nan"...)
	case lower == 'g':
		b = strconv.AppendFloat(b, v, lower, max(precision, 1), 64)
	default:
		b = strconv.AppendFloat(b, v, lower, precision, 64)
	}
	if verb != lower {
		copy(b[start:], bytes.ToUpper(b[start:]))
	}
	return b
}
