// Package plain makes texts from outside fit to be shown: what an agent, a
// server or the author of a file wrote must not steer a terminal, hide what
// stands beside it, or pass for something else. Text in any language stays as
// it is. It is a leaf: the standard library only.
package plain

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Control reports whether a rune is no text: the control characters, C1 among
// them, the two separators of Unicode that break lines, and what turns the
// direction of writing.
func Control(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Line returns a text on one line, with a blank for every control character and
// U+FFFD for what is not UTF-8.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if Control(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// Source returns the text of a file with a blank for every byte of a control
// character but line ends and tabs, so that all places in it stay the same.
func Source(b []byte) []byte {
	out := bytes.Clone(b)
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 || Control(r) && r != '\n' && r != '\t' {
			for k := range n {
				out[i+k] = ' '
			}
		}
		i += n
	}
	return out
}
