package bundle

import (
	"bytes"
	"errors"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/secret"
)

// watch looks for secrets in everything that is written to it.
type watch struct {
	forms [][]byte
	keep  int
	tail  []byte
	found bool
}

// newWatch looks for the values, except short ones, which are words and numbers.
func newWatch(values []string) *watch {
	w := &watch{}
	for _, v := range values {
		for _, v := range []string{v, strings.TrimSpace(v)} {
			if len(v) < 8 {
				continue
			}
			for _, f := range secret.Spellings(v) {
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

// reset starts another file.
func (w *watch) reset() { w.tail = nil }

var errLeak = errors.New("it contains the value of a secret")
