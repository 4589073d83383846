package secret

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// form is one way to write a value. Escapes are not forms: match reads them
// wherever they are.
type form struct {
	text string
	// wrapped means that line ends may be between its characters, but for the first
	// ones: a stream would be held up at the end of many lines.
	wrapped bool
}

// unwrapped is the number of first characters without line ends between them.
const unwrapped = 4

// formsOf returns the forms of a value: itself, UTF-16, hexadecimal, and base64 and
// base32 at any offset in the encoded text. Of these it is the part that depends
// only on the value.
func formsOf(value string) []form {
	forms := []form{{text: value}}
	for _, text := range wide(value) {
		forms = append(forms, form{text: text})
	}
	hexadecimal := hex.EncodeToString([]byte(value))
	encoded := []string{hexadecimal, strings.ToUpper(hexadecimal)}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		encoded = append(encoded, inner(value, 3, 6, alphabet.EncodeToString)...)
	}
	encoded = append(encoded, inner(value, 5, 5, base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString)...)
	slices.Sort(encoded)
	for _, text := range slices.Compact(encoded) {
		// The second is found where a line ends after the first characters.
		forms = append(forms, form{text, true}, form{text[min(len(text), unwrapped-1):], true})
	}
	return forms
}

// wide returns a value in UTF-16, in both byte orders.
func wide(value string) []string {
	var little, big []byte
	for _, unit := range utf16.Encode([]rune(value)) {
		little = append(little, byte(unit), byte(unit>>8))
		big = append(big, byte(unit>>8), byte(unit))
	}
	return []string{string(little), string(big)}
}

// inner returns the texts of a value between other bytes, in an encoding of bits
// bits a character that repeats after period bytes.
func inner(value string, period, bits int, encode func([]byte) string) (texts []string) {
	for before := range period {
		text := encode(append(make([]byte, before), value...))
		texts = append(texts, text[(before*8+bits-1)/bits:(before+len(value))*8/bits])
	}
	return texts
}

// match reports whether text begins with the form, and with how many bytes. Each
// character may be escaped as in a URL, JSON or a program. open means that more text
// may complete it.
func (f form) match(text []byte) (length int, open bool) {
	if n := min(len(text), len(f.text)); string(text[:n]) == f.text[:n] {
		if n == len(f.text) {
			return n, false
		}
		open = true
	}
	at, done, breaks := 0, 0, 0
	for done < len(f.text) {
		if at == len(text) {
			return 0, true
		}
		next := f.text[done:]
		if c, n, partial := unescape(text[at:]); partial {
			return 0, true
		} else if n > 0 && strings.HasPrefix(next, c) {
			at, done, breaks = at+n, done+len(c), 0
		} else if text[at] == next[0] || text[at] == '+' && next[0] == ' ' {
			at, done, breaks = at+1, done+1, 0
		} else if n = lineEnd(text[at:], c, n); f.wrapped && done >= unwrapped && n > 0 && breaks < 2 {
			at, breaks = at+n, breaks+1
		} else {
			return 0, open
		}
	}
	return at, open
}

// lineEnd returns the length of the part of a line end that text begins with; c is
// the character that its first n bytes escape.
func lineEnd(text []byte, c string, n int) int {
	switch {
	case text[0] == '\r' || text[0] == '\n':
		return 1
	case c == "\r" || c == "\n":
		return n
	}
	return 0
}

// simple are the escapes of one character.
var simple = map[byte]string{
	'"': `"`, '\'': "'", '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t",
}

// unescape returns the character that text begins with if it is an escape, and the
// escape's length. partial means that text ends within what may be one.
func unescape(text []byte) (c string, n int, partial bool) {
	switch {
	case text[0] == '%':
		r, n, partial := number(text, 1, 2)
		return string([]byte{byte(r)}), n, partial
	case text[0] != '\\':
		return "", 0, false
	case len(text) == 1:
		return "", 0, true
	}
	switch text[1] {
	case 'x':
		r, n, partial := number(text, 2, 2)
		return string([]byte{byte(r)}), n, partial
	case 'U':
		r, n, partial := number(text, 2, 8)
		return string(r), n, partial
	case 'u':
		r, n, partial := number(text, 2, 4)
		if n == 0 || !utf16.IsSurrogate(r) {
			return string(r), n, partial
		}
		if rest := text[n:]; len(rest) < 2 || rest[0] == '\\' && rest[1] == 'u' {
			low, m, partial := number(rest, 2, 4)
			if pair := utf16.DecodeRune(r, low); pair != unicode.ReplacementChar {
				return string(pair), n + m, partial
			}
			return string(utf8.RuneError), n, partial
		}
		return string(utf8.RuneError), n, false
	}
	if c := simple[text[1]]; c != "" {
		return c, 2, false
	}
	return "", 0, false
}

// number reads a hexadecimal number of some digits that begins at from, and returns
// where it ends, or 0 if it is none.
func number(text []byte, from, digits int) (r rune, end int, partial bool) {
	for i := from; i < from+digits; i++ {
		if i >= len(text) {
			return 0, 0, true
		}
		d := strings.IndexByte("0123456789abcdef", text[i]|0x20)
		if d < 0 || text[i] < '0' {
			return 0, 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, from + digits, false
}
