package page

import (
	"strings"
	"testing"
)

func TestScore(t *testing.T) {
	for v, want := range map[float64]string{24402200: "24402200", 12345678.9: "12345679", 0.123456789: "0.123457", 0.00791: "0.00791", 2e-5: "0.00002", 0: "0"} {
		if got := Score(v); got != want {
			t.Errorf("score %v is shown as %q, want %q", v, got, want)
		}
	}
}

// TestClean keeps what languages need of marks, and no more.
func TestClean(t *testing.T) {
	mark := "\u0301"
	for text, want := range map[string]string{
		"z" + strings.Repeat(mark, 50) + "a" + mark: "z" + strings.Repeat(mark, marksShown) + "a" + mark,
		"e\u0323\u0302 日本語 שָׁלוֹם हिन्दी 👩\u200d🔬": "e\u0323\u0302 日本語 שָׁלוֹם हिन्दी 👩\u200d🔬",
		"a\u202eb": "a   b",
	} {
		if got := string(Clean([]byte(text))); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}
