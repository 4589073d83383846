package runs

import (
	"io"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/hostiletest"
)

func TestPrintLog(t *testing.T) {
	long := strings.Repeat("x", 2*piece)
	for text, want := range map[string]string{
		"a\tb\r\nc":                   "a\tb\nc",
		"\x1b[2J\x1b]0;title\x07x\n":  "x\n",
		"bell \x07 and \u202e turned": "bell   and   turned",
		long + "\n":                   long + "\n",
		"":                            "",
	} {
		var out strings.Builder
		if err := printLog(&out, struct{ io.Reader }{strings.NewReader(text)}, false); err != nil || out.String() != want {
			t.Errorf("%.40q: got %.40q, %v, want %.40q", text, out.String(), err, want)
		}
	}
}

// piece is the length of the first piece of a long line: that of several reads of
// io.Copy.
const piece = 3 << 15

// TestHostileLogs prints what an agent may print, at every place of the buffer
// that it is read by.
func TestHostileLogs(t *testing.T) {
	show := func(text string) string {
		var out strings.Builder
		if err := printLog(&out, struct{ io.Reader }{strings.NewReader(text)}, false); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, h := range hostiletest.Texts() {
		for _, before := range []int{0, piece - 3, piece - 2, piece - 1, piece} {
			if err := hostiletest.Terminal(show(strings.Repeat("x", before) + h.Text + "\nend\n")); err != nil {
				t.Errorf("%s after %d bytes: %v", h.Name, before, err)
			}
		}
	}
	for _, good := range hostiletest.Good() {
		for before := piece - 8; before <= piece; before++ {
			if text := strings.Repeat("x", before) + good + "\n"; show(text) != text {
				t.Errorf("%q after %d bytes is cut", good, before)
			}
		}
	}
}
