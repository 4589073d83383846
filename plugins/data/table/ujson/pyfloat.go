package ujson

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode"
)

// floatOf returns what Python's float makes of a string; ok is false where it
// raises.
func floatOf(s string) (f float64, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" || s[0] >= 'A' && s[0] < 0x80 && !strings.ContainsRune("iInN", rune(s[0])) {
		return 0, false
	}
	digits, ok := plainDigits(s)
	if !ok {
		return 0, false
	}
	if unsigned := strings.TrimLeft(digits, "+-"); len(unsigned) == len(digits)-1 && strings.EqualFold(unsigned, "nan") {
		digits = unsigned
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return f, true
}

// Strip returns a line without white space at its ends, as str.strip.
func Strip(line []byte) []byte {
	return bytes.TrimFunc(line, func(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f })
}

// plainDigits returns a number in the form of strconv: decimal digits of any
// script as ASCII, without the underscores that Python allows between digits.
func plainDigits(s string) (string, bool) {
	var b strings.Builder
	under, before := false, false // the last one was an underscore, a digit
	for _, r := range s {
		digit := digitOf(r)
		switch {
		case r == '_':
			if !before {
				return "", false
			}
			under, before = true, false
			continue
		case under && digit < 0:
			return "", false
		case digit >= 0:
			b.WriteByte('0' + byte(digit))
		case r < 0x80 && r != 'x' && r != 'X' && r != 'p' && r != 'P':
			b.WriteRune(r)
		default:
			return "", false
		}
		under, before = false, digit >= 0
	}
	return b.String(), !under
}

// digitOf returns the value of a decimal digit of any script, -1 for others.
func digitOf(r rune) int {
	switch {
	case '0' <= r && r <= '9':
		return int(r - '0')
	case r < 0x80 || !unicode.Is(unicode.Nd, r):
		return -1
	}
	// Decimal digits come in runs of ten from zero on.
	zero := r
	for zero > r-10 && unicode.Is(unicode.Nd, zero-1) {
		zero--
	}
	return int(r-zero) % 10
}
