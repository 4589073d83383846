package table

import "slices"

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
