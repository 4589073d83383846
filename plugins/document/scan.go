package document

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds nesting, as Python's recursion limit does.
const maxDepth = 990

// Parse reads a JSON text. A mistake is an error that names line and column.
func Parse(data []byte) (Value, error) {
	s := scanner{text: string(data)}
	if !utf8.ValidString(s.text) {
		return Value{}, fmt.Errorf("parse JSON: the text is not UTF-8")
	}
	v, err := s.value()
	if err == nil {
		if s.blanks(); s.at < len(s.text) {
			err = s.fail("text after the value")
		}
	}
	if err != nil {
		return Value{}, fmt.Errorf("parse JSON: %w", err)
	}
	return v, nil
}

// scanner walks over a JSON text.
type scanner struct {
	text  string
	at    int
	depth int
}

func (s *scanner) fail(format string, args ...any) error {
	before := s.text[:min(s.at, len(s.text))]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return fmt.Errorf("line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
}

func (s *scanner) blanks() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// value scans one value and returns it with its text.
func (s *scanner) value() (Value, error) {
	s.blanks()
	if s.at >= len(s.text) {
		return Value{}, s.fail("a value is missing")
	}
	from := s.at
	kind, err := s.skip()
	return Value{kind: kind, raw: s.text[from:s.at]}, err
}

func (s *scanner) skip() (Kind, error) {
	switch c := s.text[s.at]; c {
	case '{':
		return Object, s.object(func(string, Value) {})
	case '[':
		return List, s.list(func(Value) {})
	case '"':
		return Text, s.quoted()
	}
	for _, word := range []struct {
		text string
		kind Kind
	}{{"null", Null}, {"true", Bool}, {"false", Bool}, {"NaN", Number}, {"Infinity", Number}, {"-Infinity", Number}} {
		if strings.HasPrefix(s.text[s.at:], word.text) {
			s.at += len(word.text)
			return word.kind, nil
		}
	}
	return Number, s.number()
}

// number scans -?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?
func (s *scanner) number() error {
	digits := func() bool {
		from := s.at
		for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
			s.at++
		}
		return s.at > from
	}
	if s.has('-') {
		s.at++
	}
	if s.has('0') {
		s.at++
	} else if !digits() {
		return s.fail("not a value")
	}
	if mark := s.at; s.has('.') {
		s.at++
		if !digits() {
			s.at = mark
			return nil
		}
	}
	if mark := s.at; s.has('e') || s.has('E') {
		s.at++
		if s.has('+') || s.has('-') {
			s.at++
		}
		if !digits() {
			s.at = mark
		}
	}
	return nil
}

func (s *scanner) has(c byte) bool { return s.at < len(s.text) && s.text[s.at] == c }

// quoted scans a text and checks its escapes.
func (s *scanner) quoted() error {
	s.at++
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return nil
		case c < 0x20:
			return s.fail("control character in a text")
		case c != '\\':
			s.at++
		default:
			if err := s.escape(); err != nil {
				return err
			}
		}
	}
	return s.fail("a text without end")
}

func (s *scanner) escape() error {
	if s.at+1 >= len(s.text) {
		return s.fail("a text without end")
	}
	switch s.text[s.at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at += 2
		return nil
	case 'u':
		if s.at+6 <= len(s.text) {
			if _, err := strconv.ParseUint(s.text[s.at+2:s.at+6], 16, 16); err == nil {
				s.at += 6
				return nil
			}
		}
	}
	return s.fail("wrong escape in a text")
}

// list scans a list and gives each item.
func (s *scanner) list(give func(Value)) error {
	return s.nested(']', func() error {
		item, err := s.value()
		if err == nil {
			give(item)
		}
		return err
	})
}

// object scans an object and gives each member.
func (s *scanner) object(give func(string, Value)) error {
	return s.nested('}', func() error {
		s.blanks()
		if !s.has('"') {
			return s.fail("the name of a member is missing")
		}
		from := s.at
		if err := s.quoted(); err != nil {
			return err
		}
		name := unquote(s.text[from:s.at])
		if s.blanks(); !s.has(':') {
			return s.fail("a colon is missing")
		}
		s.at++
		item, err := s.value()
		if err == nil {
			give(name, item)
		}
		return err
	})
}

// nested scans what stands between brackets.
func (s *scanner) nested(end byte, member func() error) error {
	if s.depth++; s.depth > maxDepth {
		return s.fail("nested more than %d deep", maxDepth)
	}
	s.at++
	if s.blanks(); s.has(end) {
		s.at++
		s.depth--
		return nil
	}
	for {
		if err := member(); err != nil {
			return err
		}
		s.blanks()
		switch {
		case s.has(','):
			s.at++
		case s.has(end):
			s.at++
			s.depth--
			return nil
		default:
			return s.fail("a comma or %q is missing", string(end))
		}
	}
}

// unquote returns the text of a checked JSON text with its quotes. A lone
// surrogate becomes three bytes that are not UTF-8 (its own encoding), so that
// writing it gives the same escape again.
func unquote(raw string) string {
	raw = raw[1 : len(raw)-1]
	if !strings.Contains(raw, "\\") {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			i++
			continue
		}
		if raw[i+1] != 'u' {
			out = append(out, unescaped(raw[i+1]))
			i += 2
			continue
		}
		r := unit(raw, i)
		i += 6
		if low := unit(raw, i); utf16.IsSurrogate(r) && low >= 0 {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				r = pair
				i += 6
			}
		}
		out = appendRune(out, r)
	}
	return string(out)
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// unit returns the code unit of the \u escape at i, -1 where there is none.
func unit(raw string, i int) rune {
	if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(raw[i+2:i+6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// appendRune is utf8.AppendRune that also encodes surrogates.
func appendRune(out []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf)
	}
	return utf8.AppendRune(out, r)
}
