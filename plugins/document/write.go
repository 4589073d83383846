package document

import (
	"bufio"
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/table"
)

// WriteOptions are the options of json.dump that the reference uses.
type WriteOptions struct {
	// Indent is the number of blanks of each level; 0 writes one line.
	Indent int
	// SortKeys writes members sorted by name, at every level.
	SortKeys bool
}

// Write writes v as json.dump does, without a line end after it.
func Write(w io.Writer, v Value, o WriteOptions) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	p := printer{w: buf, o: o}
	p.value(v, 0)
	return buf.Flush()
}

// printer writes values; errors stay in the buffered writer.
type printer struct {
	w       *bufio.Writer
	o       WriteOptions
	scratch []byte
}

func (p *printer) value(v Value, depth int) {
	switch v.kind {
	case Null:
		_, _ = p.w.WriteString("null")
	case Bool:
		_, _ = p.w.WriteString(v.raw)
	case Number:
		_, _ = p.w.WriteString(numberText(v.raw))
	case Text:
		p.text(unquote(v.raw))
	case List:
		items := v.Items()
		p.brackets('[', ']', len(items), depth, func(i int) { p.value(items[i], depth+1) })
	case Object:
		members := v.Members()
		if p.o.SortKeys {
			members = slices.Clone(members)
			slices.SortStableFunc(members, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
		}
		p.brackets('{', '}', len(members), depth, func(i int) {
			p.text(members[i].Name)
			_, _ = p.w.WriteString(": ")
			p.value(members[i].Value, depth+1)
		})
	}
}

func (p *printer) brackets(open, end byte, n, depth int, member func(int)) {
	_ = p.w.WriteByte(open)
	for i := range n {
		switch {
		case p.o.Indent > 0 && i > 0:
			_ = p.w.WriteByte(',')
			p.newline(depth + 1)
		case p.o.Indent > 0:
			p.newline(depth + 1)
		case i > 0:
			_, _ = p.w.WriteString(", ")
		}
		member(i)
	}
	if p.o.Indent > 0 && n > 0 {
		p.newline(depth)
	}
	_ = p.w.WriteByte(end)
}

func (p *printer) newline(depth int) {
	_ = p.w.WriteByte('\n')
	for range depth * p.o.Indent {
		_ = p.w.WriteByte(' ')
	}
}

func (p *printer) text(s string) {
	p.scratch = appendQuoted(p.scratch[:0], s)
	_, _ = p.w.Write(p.scratch)
}

// numberText returns a number as Python writes what it read.
func numberText(raw string) string {
	if !strings.ContainsAny(raw, ".eENI") {
		if raw == "-0" {
			return "0"
		}
		return raw
	}
	f, _ := strconv.ParseFloat(raw, 64)
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return table.FormatFloat(f)
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends a text in quotes with ASCII escapes.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			out = appendASCII(out, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 && i+3 <= len(s) && s[i] == 0xed {
			r, size = rune(s[i]&0x0f)<<12|rune(s[i+1]&0x3f)<<6|rune(s[i+2]&0x3f), 3
		}
		if r > 0xffff {
			r -= 0x10000
			out = appendUnit(appendUnit(out, 0xd800+r>>10), 0xdc00+r&0x3ff)
		} else {
			out = appendUnit(out, r)
		}
		i += size
	}
	return append(out, '"')
}

func appendASCII(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\b':
		return append(out, `\b`...)
	case '\f':
		return append(out, `\f`...)
	case '\n':
		return append(out, `\n`...)
	case '\r':
		return append(out, `\r`...)
	case '\t':
		return append(out, `\t`...)
	}
	if c < 0x20 || c == 0x7f {
		return appendUnit(out, rune(c))
	}
	return append(out, c)
}

func appendUnit(out []byte, r rune) []byte {
	return append(out, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
