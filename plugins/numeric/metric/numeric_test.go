package metric

import (
	"math"
	"testing"
)

// Expectations from numpy 1.26 round and Python 3.11 round.
func TestRounding(t *testing.T) {
	for _, c := range []struct{ in, numpy, python float64 }{
		{0.5, 0.5, 0.5},
		{2.675005, 2.675, 2.67501},
		{0.015625, 0.01562, 0.01562},
		{1.000005, 1, 1.00001},
		{-0.000004, math.Copysign(0, -1), math.Copysign(0, -1)},
		{1e305, math.Inf(1), 1e305},
		{math.Inf(-1), math.Inf(-1), math.Inf(-1)},
	} {
		if got := NumpyRounding.Round(c.in); math.Float64bits(got) != math.Float64bits(c.numpy) {
			t.Errorf("numpy round(%v) = %v, want %v", c.in, got, c.numpy)
		}
		if got := PythonRounding.Round(c.in); math.Float64bits(got) != math.Float64bits(c.python) {
			t.Errorf("Python round(%v) = %v, want %v", c.in, got, c.python)
		}
	}
}
