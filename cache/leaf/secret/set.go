package secret

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// mask replaces the value of a secret.
const mask = "***"

// Set is a set of values that must not be written. The nil *Set masks nothing.
// It may be used by several goroutines.
type Set struct {
	// given are the values as they were passed in; values are the strings to search
	// for.
	given  []string
	values []string
	by     [256][]string // values by their first byte
	// long are the secrets that are masked in documents; nil means all of them.
	long *Set
}

// shortest is the length of the shortest value that is masked in documents.
const shortest = 4

// encoded is the length of the shortest value whose encodings are masked.
const encoded = 8

// New returns a Set of the given values. A value is masked as it is, without
// surrounding white space (files end with a newline), as it is written within
// JSON and, if it has several lines, each line of at least eight characters. A
// value of at least eight bytes is also masked in all its Spellings. Empty
// values are ignored. Values of less than four bytes are masked in the output
// of steps but not in documents (the journal, the files that a step keeps),
// where masking would make times and numbers unreadable.
func New(values ...string) *Set {
	s := newSet(values)
	s.given = slices.Clone(values)
	if short := func(v string) bool { return len(v) < shortest }; slices.ContainsFunc(s.values, short) {
		s.long = newSet(slices.DeleteFunc(slices.Clone(values), short))
		s.long.values = slices.DeleteFunc(s.long.values, short)
		s.long.index()
	}
	return s
}

// With returns the secrets of s and those of more values.
func (s *Set) With(values ...string) *Set {
	if s == nil {
		return New(values...)
	}
	return New(append(slices.Clone(s.given), values...)...)
}

func newSet(values []string) *Set {
	s := &Set{}
	for _, v := range values {
		s.add(v)
		s.add(strings.TrimSpace(v))
		if lines := strings.Split(v, "\n"); len(lines) > 1 {
			for _, line := range lines {
				if line = strings.TrimSpace(line); len(line) >= 8 {
					s.add(line)
				}
			}
		}
	}
	slices.Sort(s.values)
	s.values = slices.Compact(s.values)
	s.index()
	return s
}

// index sorts the values by their first byte.
func (s *Set) index() {
	s.by = [256][]string{}
	for _, v := range s.values {
		s.by[v[0]] = append(s.by[v[0]], v)
	}
}

func (s *Set) add(v string) {
	if v == "" {
		return
	}
	s.values = append(s.values, v, inJSON(v, false), inJSON(v, true))
	if len(v) >= encoded {
		s.values = append(s.values, Spellings(v)...)
	}
}

// inJSON returns the part between the quotes of a string in JSON, with or
// without escapes for HTML's special characters.
func inJSON(v string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(v); err != nil {
		return v // does not happen: every string can be encoded
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// Error returns err with its message masked. errors.Is and errors.As still
// work.
func (s *Set) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := s.Mask(err.Error()); text != err.Error() {
		return &maskedError{text: text, err: err}
	}
	return err
}

type maskedError struct {
	text string
	err  error
}

// Error implements error.
func (e *maskedError) Error() string { return e.text }

// Unwrap returns the error as it was.
func (e *maskedError) Unwrap() error { return e.err }

// Mask returns the string with every secret replaced by "***".
func (s *Set) Mask(text string) string { return string(s.Bytes([]byte(text))) }

// Bytes is Mask for bytes. It may return its argument.
func (s *Set) Bytes(text []byte) []byte {
	if s == nil || len(s.values) == 0 {
		return text
	}
	m := masking{secrets: s}
	out, _ := m.scan(make([]byte, 0, len(text)), text, true)
	return out
}

// ForDocuments returns the secrets without those that are too short for
// documents.
func (s *Set) ForDocuments() *Set {
	if s != nil && s.long != nil {
		return s.long
	}
	return s
}

// JSON masks the strings in a JSON document, which stays valid. It does not
// mask values that are too short for documents.
func (s *Set) JSON(doc []byte) []byte {
	s = s.ForDocuments()
	if bytes.Equal(s.Bytes(doc), doc) {
		return doc
	}
	out := make([]byte, 0, len(doc))
	for {
		start := bytes.IndexByte(doc, '"')
		if start < 0 {
			return append(out, doc...)
		}
		end := start + textEnd(doc[start:])
		out = append(out, doc[:start]...)
		out = append(out, s.maskText(doc[start:end])...)
		doc = doc[end:]
	}
}

// textEnd returns the length of the quoted string at the beginning of doc.
func textEnd(doc []byte) int {
	for i := 1; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}

// maskText masks a quoted string, entirely if an escape would be cut in two.
func (s *Set) maskText(quoted []byte) []byte {
	masked := s.Bytes(quoted[1 : len(quoted)-1])
	masked = slices.Concat([]byte{'"'}, masked, []byte{'"'})
	if !json.Valid(masked) {
		return []byte(`"` + mask + `"`)
	}
	return masked
}

// masking is the state of masking a stream.
type masking struct {
	secrets *Set
	// covered is the number of coming bytes that belong to a secret.
	covered int
	// shown is true when the current secret has already been replaced.
	shown bool
}

// scan appends the bytes that can be written to dst. It returns the rest of text,
// which may be the beginning of a secret. With last, there is no rest.
func (m *masking) scan(dst, text []byte, last bool) (out, rest []byte) {
	for i := range text {
		if m.secrets.by[text[i]] != nil {
			length, open := m.secrets.at(text[i:])
			if open && !last {
				return dst, text[i:]
			}
			m.covered = max(m.covered, length)
		}
		switch {
		case m.covered == 0:
			dst, m.shown = append(dst, text[i]), false
			continue
		case !m.shown:
			dst, m.shown = append(dst, mask...), true
		}
		m.covered--
	}
	return dst, nil
}

// at returns the length of the longest secret that text begins with, and
// whether more text could make it longer.
func (s *Set) at(text []byte) (length int, open bool) {
	for _, v := range s.by[text[0]] {
		switch {
		case len(v) <= len(text):
			if string(text[:len(v)]) == v {
				length = max(length, len(v))
			}
		case v[:len(text)] == string(text):
			open = true
		}
	}
	return length, open
}
