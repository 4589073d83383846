package cli

import (
	"strings"
	"testing"
)

func TestPrintClean(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	for text, want := range map[string]string{
		"a\tb\r\nc":                   "a\tb\nc",
		"\x1b[2J\x1b]0;title\x07x\n":  "x\n",
		"bell \x07 and \u202e turned": "bell   and   turned",
		long + "\n":                   long + "\n",
		"":                            "",
	} {
		var out strings.Builder
		if err := printClean(&out, strings.NewReader(text)); err != nil || out.String() != want {
			t.Errorf("%.40q: got %.40q, %v, want %.40q", text, out.String(), err, want)
		}
	}
}
