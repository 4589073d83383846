package secret

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

// Spellings returns the forms in which a value may appear in a text, sorted: as
// it is, in JSON, in a URL, in hexadecimal, and in base64, at any offset in the
// encoded text. For base64 it is the part that depends only on the value, or
// nothing if that part is shorter than eight characters.
func Spellings(value string) []string {
	hexadecimal := hex.EncodeToString([]byte(value))
	forms := []string{
		value, inJSON(value, false), inJSON(value, true), url.QueryEscape(value), url.PathEscape(value),
		hexadecimal, strings.ToUpper(hexadecimal),
	}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := alphabet.EncodeToString(append(make([]byte, before), value...))
			from, to := (before*8+5)/6, (before+len(value))*8/6
			if to-from >= 8 {
				forms = append(forms, text[from:to])
			}
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}
