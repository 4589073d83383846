package pytext_test

import (
	"strconv"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// TestNumbers has what Python 3.11's int and float say.
func TestNumbers(t *testing.T) {
	for s, want := range map[string]string{
		"+nan": "NaN", "-NaN": "NaN", "- nan": "", "+-nan": "", "\x1c1\x1f": "", "1\x1c": "", "\x1c１": "", "１\x1f": "",
		" 1\u0085": "1", "\v1\f": "1", "1\u00a0": "1", "1_0": "10", "1_": "", "-inf": "-Inf", "0x1p4": "",
	} {
		got := ""
		if x, ok := pytext.Float(s); ok {
			got = strconv.FormatFloat(x, 'g', -1, 64)
		}
		if n, ok := pytext.Int(table.TextValue(s)); got != want || ok != (want == "1" || want == "10") || ok && n.String() != want {
			t.Errorf("%q: float %q, int %v (%v), want %q", s, got, n, ok, want)
		}
	}
}

// FuzzNumbers checks that what is read is read the same again.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"1", " +1_0 ", "1__0", "_1", "1_", "0x10", "1e5", "1_0.5_0e1_0", "inf", "-Infinity", "nan", "１２", "1.", ".5", "", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, isInt := pytext.Int(table.TextValue(s))
		x, isFloat := pytext.Float(s)
		if isInt && (!isFloat || x != n.Float()) {
			t.Errorf("%q is the integer %v, but the number %v (%v)", s, n, x, isFloat)
		}
	})
}
