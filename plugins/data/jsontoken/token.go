package jsontoken

import (
	"bytes"
	"encoding/json"
)

// Kinds of tokens that are not punctuation.
const (
	Open   byte = 0 // a string without a closing quote, which goes to the end
	Word   byte = 'w'
	String byte = '"'
)

// Token is text[Start:End].
type Token struct {
	// Kind is a kind above or one of the bytes {}[],:.
	Kind byte
	// Name means that the token is a string before a colon: the name of an
	// object's member.
	Name       bool
	Start, End int
	// Depth is the number of arrays and objects around the token. A bracket is
	// outside of its own. It is negative where more were closed than opened.
	Depth int
}

// Lexer reads a text token by token.
type Lexer struct {
	// Token is the current token after a Next that returned true.
	Token
	text []byte
	// next is the position of the next token, and inside the depth of what is
	// there.
	next, inside int
}

// New returns a Lexer before the first token of a text.
func New(text []byte) *Lexer { return &Lexer{text: text, next: Space(text, 0)} }

// Next goes to the next token. It returns false after the last one.
func (l *Lexer) Next() bool {
	text, at := l.text, l.next
	if at >= len(text) {
		return false
	}
	kind, end := text[at], at+1
	l.Start, l.Depth, l.Name = at, l.inside, false
	switch kind {
	case '{', '[':
		l.inside++
	case '}', ']':
		l.inside--
		l.Depth--
	case ',', ':':
	case String:
		if end = closing(text, end); end < 0 {
			kind, end = Open, len(text)
		}
		next := Space(text, end)
		l.Name = next < len(text) && text[next] == ':'
	default:
		for kind = Word; end < len(text) && inWord(text[end]); {
			end++
		}
	}
	l.Kind, l.End, l.next = kind, end, Space(text, end)
	return true
}

// Space skips white space and returns the position of the next byte.
func Space(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// inWord reports whether a byte does not end a word: neither white space nor
// punctuation, of which {} and [] differ in one bit.
func inWord(c byte) bool {
	return c > ' ' && c != ',' && c != ':' && c != '"' && c|0x20 != '{' && c|0x20 != '}'
}

// closing returns the end of a string whose content begins at text[at], or -1.
func closing(text []byte, at int) int {
	for {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return -1
		}
		escapes := 0
		for escapes < n && text[at+n-escapes-1] == '\\' {
			escapes++
		}
		if at += n + 1; escapes%2 == 0 {
			return at
		}
	}
}

// Unquote decodes a string with its quotes. It checks the string only if it has
// an escape.
func Unquote(quoted []byte) (string, error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	var text string // not a result, which would be allocated in the other case, too
	err := json.Unmarshal(quoted, &text)
	return text, err
}

// Quote returns a string as JSON, without escapes for HTML.
func Quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can be encoded
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
