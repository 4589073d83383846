package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// mask replaces the value of a secret.
const mask = "***"

// Set is a set of values that people must not read. The nil *Set masks nothing.
// It may be used by several goroutines.
type Set struct {
	// given are the values as they were passed in.
	given []string
	// by are the forms to search for by their first byte.
	by [256][]form
	// pairs are the two bytes, as a bit each, that a form may begin with, and firsts
	// the first of them. Most places of a text are not looked at any further.
	pairs  [1 << 16 / 64]uint64
	firsts [256]bool
	empty  bool
}

// New returns a Set of the values that are not Weak. A value is masked without
// surrounding white space in all its forms, whatever characters of it are escaped,
// and so are the words of a value of several lines that look like parts of a key.
func New(values ...string) *Set { return newSet(values, Weak) }

// With returns the secrets of s and those of more values.
func (s *Set) With(values ...string) *Set {
	if s == nil {
		return New(values...)
	}
	return New(append(slices.Clone(s.given), values...)...)
}

func newSet(values []string, weak func(string) bool) *Set {
	s := &Set{given: slices.Clone(values), empty: true}
	for _, v := range values {
		if v = strings.TrimSpace(v); weak(v) {
			continue
		}
		s.add(v)
		if strings.Contains(v, "\n") {
			for word := range strings.FieldsSeq(v) {
				if word, ok := keyWord(word); ok {
					s.add(word)
				}
			}
		}
	}
	return s
}

// keyWord returns a word of a secret of several lines without quotes, and whether it
// is worth hiding by itself: a line of a key or a value in JSON, but not a name or an
// address, which files of other people share.
func keyWord(word string) (string, bool) {
	if strings.HasSuffix(word, ":") || strings.Contains(word, "://") {
		return "", false
	}
	word = strings.Trim(word, `"',`)
	has := func(is func(rune) bool) bool { return strings.ContainsFunc(word, is) }
	return word, len(word) >= 2*shortest && has(unicode.IsLetter) && has(unicode.IsDigit) && !Weak(word)
}

// add adds the forms of a value to the index.
func (s *Set) add(value string) {
	for n, f := range formsOf(value) {
		if f.text == "" || n > 0 && len(f.text) < shortest || slices.Contains(s.by[f.text[0]], f) {
			continue
		}
		first := f.text[0]
		s.by[first], s.empty = append(s.by[first], f), false
		then := []byte(`%\`)
		if len(f.text) > 1 {
			then = append(then, f.text[1])
		}
		if strings.HasPrefix(f.text[1:], " ") {
			then = append(then, '+')
		}
		for _, c := range then {
			s.pair(first, c)
		}
		s.pair('%', "0123456789abcdef"[first>>4])
		s.pair('%', "0123456789ABCDEF"[first>>4])
		for _, c := range []byte("xuU") {
			s.pair('\\', c)
		}
		for c, plain := range simple {
			if plain[0] == first {
				s.pair('\\', c)
			}
		}
	}
}

func (s *Set) pair(first, second byte) {
	at := uint(first)<<8 | uint(second)
	s.pairs[at/64] |= 1 << (at % 64)
	s.firsts[first] = true
}

// next returns the first place of text from i on where a form may begin.
func (s *Set) next(text []byte, i int) int {
	for ; i+1 < len(text); i++ {
		if at := uint(text[i])<<8 | uint(text[i+1]); s.pairs[at/64]>>(at%64)&1 != 0 {
			return i
		}
	}
	if i < len(text) && !s.firsts[text[i]] {
		i++
	}
	return i
}

// at returns the length of the longest form that text begins with, and whether more
// text could make it longer.
func (s *Set) at(text []byte) (length int, open bool) {
	try := func(forms []form) {
		for _, f := range forms {
			n, more := f.match(text)
			length, open = max(length, n), open || more
		}
	}
	try(s.by[text[0]])
	if c, n, partial := unescape(text); partial {
		open = true
	} else if n > 0 && c[0] != text[0] {
		try(s.by[c[0]])
	}
	return length, open
}

// Empty reports whether the set has nothing to search for.
func (s *Set) Empty() bool { return s == nil || s.empty }

// Error returns err with its message masked. errors.Is and errors.As still
// work.
func (s *Set) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := s.Mask(err.Error()); text != err.Error() {
		return Reworded(err, text)
	}
	return err
}

// Reworded returns err with another message. errors.Is and errors.As still work.
func Reworded(err error, text string) error { return &reworded{text, err} }

type reworded struct {
	text string
	err  error
}

// Error implements error.
func (e *reworded) Error() string { return e.text }

// Unwrap returns the error as it was.
func (e *reworded) Unwrap() error { return e.err }

// Mask returns the string with every secret replaced by "***".
func (s *Set) Mask(text string) string { return string(s.Bytes([]byte(text))) }

// Bytes is Mask for bytes. It may return its argument.
func (s *Set) Bytes(text []byte) []byte {
	if s.Empty() {
		return text
	}
	m := masking{secrets: s}
	out, _ := m.scan(make([]byte, 0, len(text)), text, true)
	return out
}

// JSON masks the strings in a JSON document, which stays valid.
func (s *Set) JSON(doc []byte) []byte {
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
	// shown is true when the current secret has already been replaced, any when one
	// ever was.
	shown, any bool
}

// scan appends the bytes that can be written to dst. It returns the rest of text,
// which may be the beginning of a secret. With last, there is no rest.
func (m *masking) scan(dst, text []byte, last bool) (out, rest []byte) {
	for i := 0; i < len(text); i++ {
		if m.covered == 0 {
			if next := m.secrets.next(text, i); next > i {
				dst, m.shown, i = append(dst, text[i:next]...), false, next
			}
			if i == len(text) {
				break
			}
		}
		if m.secrets.firsts[text[i]] {
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
			dst, m.shown, m.any = append(dst, mask...), true, true
		}
		m.covered--
	}
	return dst, nil
}

// Writer passes bytes on with secrets replaced by "***", even secrets that are
// split between writes. It holds back bytes that may be the beginning of a secret.
// It may be used by several goroutines.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	m    masking
	held []byte
	out  []byte
}

// NewWriter returns a writer in front of w.
func NewWriter(w io.Writer, s *Set) *Writer {
	if s == nil {
		s = New()
	}
	return &Writer{w: w, m: masking{secrets: s}}
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(p), w.pass(p, false)
}

// Flush writes the bytes that were held back, as if nothing followed.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(nil, true)
}

// Masked reports whether a secret was replaced.
func (w *Writer) Masked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.m.any
}

func (w *Writer) pass(p []byte, last bool) error {
	out := p
	if !w.m.secrets.empty {
		text, rest := p, []byte(nil)
		if len(w.held) > 0 {
			text = append(w.held, p...)
		}
		out, rest = w.m.scan(w.out[:0], text, last)
		w.held, w.out = append(w.held[:0:0], rest...), out[:0]
	}
	if len(out) == 0 {
		return nil
	}
	_, err := w.w.Write(out)
	return err
}

// ErrFound is the error of a Guard that saw a secret.
var ErrFound = errors.New("it contains a secret")

// Guard looks for secrets in a stream, even for those that are split between writes,
// and changes nothing.
type Guard struct {
	secrets *Set
	held    []byte
}

// NewGuard returns a Guard.
func NewGuard(s *Set) *Guard {
	if s == nil {
		s = New()
	}
	return &Guard{secrets: s}
}

// Write implements io.Writer. It returns ErrFound from the write on that completes
// a secret.
func (g *Guard) Write(p []byte) (int, error) {
	if g.secrets.empty {
		return len(p), nil
	}
	text := p
	if len(g.held) > 0 {
		text = append(g.held, p...)
	}
	held := len(text)
	for i := g.secrets.next(text, 0); i < len(text); i = g.secrets.next(text, i+1) {
		length, open := g.secrets.at(text[i:])
		if length > 0 {
			g.held = text
			return 0, ErrFound
		}
		if open {
			held = min(held, i)
		}
	}
	g.held = append(g.held[:0:0], text[held:]...)
	return len(p), nil
}

// Held returns the number of last bytes that may be the beginning of a secret.
func (g *Guard) Held() int { return len(g.held) }
