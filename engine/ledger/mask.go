package ledger

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
)

// mask stands for the value of a secret.
const mask = "***"

// Secrets are values that must not be written. The nil *Secrets masks
// nothing. It may be used by several goroutines.
type Secrets struct {
	values []string
	first  [256]bool // bytes that values begin with
	// long are those that are looked for in documents, nil if all are.
	long *Secrets
}

// shortest is the length of the shortest value that is masked in documents.
const shortest = 4

// NewSecrets returns the secrets of the given values. A value is masked as it
// is, without the space around it (files end with a newline), as it is
// written within JSON, and, if it has several lines, each line of at least
// eight characters. Empty values are no secrets. Values of less than four
// bytes are masked in what steps print but not in the journal and the other
// documents of a run, where they would make times and numbers unreadable.
func NewSecrets(values ...string) *Secrets {
	s := newSecrets(values)
	if short := func(v string) bool { return len(v) < shortest }; slices.ContainsFunc(s.values, short) {
		s.long = newSecrets(slices.DeleteFunc(slices.Clone(values), short))
		s.long.values = slices.DeleteFunc(s.long.values, short)
	}
	return s
}

func newSecrets(values []string) *Secrets {
	s := &Secrets{}
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
	return s
}

func (s *Secrets) add(v string) {
	if v == "" {
		return
	}
	s.values = append(s.values, v)
	s.first[v[0]] = true
	// A text's JSON cannot fail to be made.
	if quoted, _ := json.Marshal(v); len(quoted) > len(v)+2 {
		inner := string(quoted[1 : len(quoted)-1])
		s.values = append(s.values, inner)
		s.first[inner[0]] = true
	}
}

// Mask returns the text with every secret replaced by "***".
func (s *Secrets) Mask(text string) string { return string(s.maskBytes([]byte(text))) }

func (s *Secrets) maskBytes(text []byte) []byte {
	if s == nil || len(s.values) == 0 {
		return text
	}
	m := masking{secrets: s}
	out, _ := m.scan(make([]byte, 0, len(text)), text, true)
	return out
}

// maskJSON masks the texts within a document of JSON, which stays one.
func (s *Secrets) maskJSON(doc []byte) []byte {
	if s != nil && s.long != nil {
		s = s.long
	}
	if bytes.Equal(s.maskBytes(doc), doc) {
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

// textEnd returns the length of the quoted text at the beginning of doc.
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

// maskText masks a quoted text, all of it if an escape is cut in two.
func (s *Secrets) maskText(quoted []byte) []byte {
	masked := s.maskBytes(quoted[1 : len(quoted)-1])
	masked = slices.Concat([]byte{'"'}, masked, []byte{'"'})
	if !json.Valid(masked) {
		return []byte(`"` + mask + `"`)
	}
	return masked
}

// masking is how far the masking of a stream has come.
type masking struct {
	secrets *Secrets
	// covered is the number of coming bytes that belong to a secret.
	covered int
	// shown says that the secret under way has been replaced.
	shown bool
}

// scan appends what can be written to dst and returns the rest of text, which
// might be the beginning of a secret; nothing is left when last.
func (m *masking) scan(dst, text []byte, last bool) (out, rest []byte) {
	for i := range text {
		if m.secrets.first[text[i]] {
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
// whether more text could make that a longer one.
func (s *Secrets) at(text []byte) (length int, open bool) {
	for _, v := range s.values {
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

// Masker is a writer that replaces secrets by "***", also when they are split
// between writes. It holds back what might be the beginning of a secret. It
// may be used by several goroutines.
type Masker struct {
	mu   sync.Mutex
	w    io.Writer
	m    masking
	held []byte
	out  []byte
}

// NewMasker returns a masker in front of w.
func NewMasker(w io.Writer, s *Secrets) *Masker {
	if s == nil {
		s = &Secrets{}
	}
	return &Masker{w: w, m: masking{secrets: s}}
}

// Write implements io.Writer.
func (m *Masker) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(p), m.pass(p, false)
}

// Flush writes what is held back, as if nothing followed.
func (m *Masker) Flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pass(nil, true)
}

func (m *Masker) pass(p []byte, last bool) error {
	text := p
	if len(m.held) > 0 {
		text = append(m.held, p...)
	}
	out, rest := m.m.scan(m.out[:0], text, last)
	m.held = append(m.held[:0:0], rest...)
	m.out = out[:0]
	if len(out) == 0 {
		return nil
	}
	_, err := m.w.Write(out)
	return err
}
