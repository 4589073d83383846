package page

import "testing"

func TestScore(t *testing.T) {
	for v, want := range map[float64]string{24402200: "24402200", 12345678.9: "12345679", 0.123456789: "0.123457", 0.00791: "0.00791", 2e-5: "0.00002", 0: "0"} {
		if got := Score(v); got != want {
			t.Errorf("score %v is shown as %q, want %q", v, got, want)
		}
	}
}
