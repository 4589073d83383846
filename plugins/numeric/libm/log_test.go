package libm

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// The files hold pairs of bit patterns, argument and correctly rounded value;
// their first line says how they were made.
func TestLogIsCorrectlyRounded(t *testing.T) {
	for name, f := range map[string]func(float64) float64{"log": Log, "log1p": Log1p} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Open("testdata/" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			count := 0
			for lines := bufio.NewScanner(file); lines.Scan(); count++ {
				if strings.HasPrefix(lines.Text(), "#") {
					continue
				}
				var in, want uint64
				if _, err := fmt.Sscanf(lines.Text(), "%x %x", &in, &want); err != nil {
					t.Fatal(err)
				}
				if got := f(math.Float64frombits(in)); got != math.Float64frombits(want) {
					t.Errorf("%s(%v) = %v, want %v", name, math.Float64frombits(in), got, math.Float64frombits(want))
				}
			}
			if count < 1000 {
				t.Errorf("only %d vectors", count)
			}
		})
	}
}

func TestLogSpecialCases(t *testing.T) {
	for _, x := range []float64{0, math.Copysign(0, -1), -1, math.Inf(1), math.Inf(-1), math.NaN(), 1} {
		if got, want := Log(x), math.Log(x); math.Float64bits(got) != math.Float64bits(want) && !(got != got && want != want) {
			t.Errorf("Log(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{0, math.Copysign(0, -1), -1, -2, math.Inf(1), math.NaN()} {
		if got, want := Log1p(x), math.Log1p(x); math.Float64bits(got) != math.Float64bits(want) && !(got != got && want != want) {
			t.Errorf("Log1p(%v) = %v, want %v", x, got, want)
		}
	}
}
