package pytext

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// IsSpace reports whether Python's str.isspace holds for r.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// Fields splits a string as str.split does: at runs of Unicode white space, to
// which Python counts U+001C to U+001F.
func Fields(s string) []string { return strings.FieldsFunc(s, IsSpace) }

// Strip removes white space as str.strip does.
func Strip(s string) string { return strings.TrimFunc(s, IsSpace) }

// Int returns Python's int() of a cell, an Int64 or, from 2⁶³ on, a Uint64:
// floats are cut towards zero, strings are parsed, with white space around, a
// sign, underscores between digits and any Unicode decimal digits allowed. Ok is
// false for missing cells, infinities, other strings and numbers beyond 64 bits.
func Int(v table.Value) (n table.Value, ok bool) {
	switch v.Kind() {
	case table.Text:
		digits, ok := Digits(strings.TrimSpace(v.String()))
		if !ok {
			return table.Value{}, false
		}
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
			return table.IntValue(n), true
		}
		u, err := strconv.ParseUint(strings.TrimPrefix(digits, "+"), 10, 64)
		return table.UintValue(u), err == nil
	case table.Float64:
		f := v.Float()
		if f >= 0x1p63 {
			return table.UintValue(uint64(f)), f < 0x1p64
		}
		return table.IntValue(int64(f)), f >= -0x1p63
	case table.Bool:
		return table.IntValue(v.Int()), true
	case table.Int64, table.Uint64:
		return v, true
	}
	return table.Value{}, false
}

// Digits checks the grammar of Python's int and returns the number with ASCII
// digits and without underscores.
func Digits(s string) (string, bool) {
	s, ok := plain(s)
	digits := s
	if s != "" && (s[0] == '+' || s[0] == '-') {
		digits = s[1:]
	}
	return s, ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// plain returns a number with ASCII digits and without the underscores between
// digits. Ok is false for other underscores and other characters beyond ASCII.
func plain(s string) (text string, ok bool) {
	if strings.IndexFunc(s, func(r rune) bool { return r == '_' || r >= utf8.RuneSelf }) < 0 {
		return s, true
	}
	var b strings.Builder
	digit := false // the character before is a digit
	for i, r := range s {
		d, isDigit := digitValue(r)
		switch {
		case isDigit:
			b.WriteByte('0' + d)
		case r == '_':
			next, _ := utf8.DecodeRuneInString(s[i+1:])
			if _, ok := digitValue(next); !digit || !ok {
				return "", false
			}
		case r < utf8.RuneSelf:
			b.WriteByte(byte(r))
		default:
			return "", false
		}
		digit = isDigit
	}
	return b.String(), true
}

// digitValue returns the value of a Unicode decimal digit (category Nd, whose
// members come in runs of ten from 0 to 9).
func digitValue(r rune) (byte, bool) {
	if r < utf8.RuneSelf {
		return byte(r - '0'), r >= '0' && r <= '9'
	}
	if !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	before := rune(1) // digits of this run and of those that end where it begins
	for unicode.Is(unicode.Nd, r-before) {
		before++
	}
	return byte((before - 1) % 10), true
}

// Float reads s as Python's float(s) does: white space around,
// underscores between digits, any Unicode decimal digits, inf, infinity and
// nan in any case are allowed, hexadecimal numbers are not.
func Float(s string) (float64, bool) {
	if isPlainFloat(s) {
		return decimalFloat(s)
	}
	s, ok := plain(strings.TrimSpace(s))
	if !ok {
		return 0, false
	}
	return decimalFloat(s)
}

// isPlainFloat reports whether s has nothing but what numbers are commonly
// made of, so that Go and Python read it alike.
func isPlainFloat(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', c == '.', c == '-', c == '+', c == 'e':
		default:
			return false
		}
	}
	return s != ""
}

// decimalFloat is strconv.ParseFloat without hexadecimal numbers; a number
// too large is an infinity.
func decimalFloat(s string) (float64, bool) {
	if strings.ContainsAny(s, "xXpP") {
		return 0, false
	}
	if len(s) == 4 && (s[0] == '+' || s[0] == '-') && strings.EqualFold(s[1:], "nan") {
		s = s[1:] // strconv knows no sign of it
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

// Lower returns Python's str.lower: the simple lower case of every
// character, but two characters for U+0130 and the final form of a capital
// sigma at the end of a word.
func Lower(s string) string {
	if !strings.ContainsAny(s, "\u0130\u03a3") {
		return strings.ToLower(s)
	}
	in := []rune(s)
	var b strings.Builder
	for i, r := range in {
		switch {
		case r == 0x130:
			b.WriteString("i\u0307")
		case r == 0x3a3 && endsWord(in, i):
			b.WriteRune(0x3c2)
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// endsWord is the condition Final_Sigma of the Unicode standard, section
// 3.13: a cased letter before and none after, case-ignorable ones skipped.
func endsWord(in []rune, i int) bool {
	j := i - 1
	for j >= 0 && caseIgnorable(in[j]) {
		j--
	}
	if j < 0 || !cased(in[j]) {
		return false
	}
	j = i + 1
	for j < len(in) && caseIgnorable(in[j]) {
		j++
	}
	return j == len(in) || !cased(in[j])
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

func caseIgnorable(r rune) bool {
	if strings.ContainsRune("'.:^`\u00a8\u00ad\u00af\u00b4\u00b7\u00b8\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a", r) {
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}
