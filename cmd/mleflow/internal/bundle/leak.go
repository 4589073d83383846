package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Spellings returns the forms in which a secret may stand in a text: as it is,
// in JSON, in an address, in hexadecimal and in base64 wherever it begins in
// the encoded text.
func Spellings(value string) []string {
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value)))}
	for _, html := range []bool{false, true} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(value) == nil && b.Len() > 3 {
			forms = append(forms, b.String()[1:b.Len()-2])
		}
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := enc.EncodeToString(append(make([]byte, before), value...))
			// Only whole groups of the value's own bits are the same in
			// every text.
			from, to := (before*8+5)/6, (before+len(value))*8/6
			if to-from >= 8 {
				forms = append(forms, text[from:to])
			}
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// watch looks for secrets in everything that is written to it.
type watch struct {
	forms [][]byte
	keep  int
	tail  []byte
	found bool
}

// newWatch looks for the values; short ones are words and numbers and are not
// looked for.
func newWatch(values []string) *watch {
	w := &watch{}
	for _, v := range values {
		for _, v := range []string{v, strings.TrimSpace(v)} {
			if len(v) < 8 {
				continue
			}
			for _, f := range Spellings(v) {
				w.forms = append(w.forms, []byte(f))
				w.keep = max(w.keep, len(f)-1)
			}
		}
	}
	return w
}

// Write implements io.Writer. It fails when a secret was seen.
func (w *watch) Write(p []byte) (int, error) {
	if len(w.forms) == 0 {
		return len(p), nil
	}
	text := append(w.tail, p...)
	for _, f := range w.forms {
		if bytes.Contains(text, f) {
			w.found = true
			return 0, errLeak
		}
	}
	w.tail = bytes.Clone(text[max(0, len(text)-w.keep):])
	return len(p), nil
}

// reset forgets what came before, at the beginning of another file.
func (w *watch) reset() { w.tail = nil }

var errLeak = fmt.Errorf("it holds the value of a secret")
