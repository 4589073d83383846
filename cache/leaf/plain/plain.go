// Package plain makes strings from outside safe to show. A string that an agent, a
// server or the author of a file wrote must not control a terminal, hide the text
// next to it, or pass for something else. Text in any language does not change. It
// is a leaf package: it imports only the standard library.
package plain

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Control reports whether a rune is not text: the control characters including
// C1, Unicode's two line separators, and characters that change the direction
// of writing.
func Control(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Unfinished returns how many bytes at the end of a text are the beginning of a
// character that may go on.
func Unfinished(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Line returns a string on one line, with a space for every control character
// and U+FFFD for invalid UTF-8.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if Control(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// Source returns the content of a file with a space for every byte of a control
// character except line ends and tabs, so that all positions in it stay the
// same.
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

// listed is the largest number of names in a List.
const listed = 12

// List joins names for a message: all of them, or the first dozen and the total
// number.
func List(names []string) string {
	if len(names) > listed {
		return fmt.Sprintf("%s, … (%d)", strings.Join(names[:listed], ", "), len(names))
	}
	return strings.Join(names, ", ")
}
