package libm

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// testdata/elementary.txt has lines of a function's name, the bits of its
// arguments and those of the nearest value; the first says how they were made.
func TestElementaryFunctions(t *testing.T) {
	functions := map[string]func(v []float64) float64{
		"sin":  func(v []float64) float64 { return Sin(v[0]) },
		"cos":  func(v []float64) float64 { return Cos(v[0]) },
		"asin": func(v []float64) float64 { return Asin(v[0]) },
		"acos": func(v []float64) float64 { return Acos(v[0]) },
		"exp":  func(v []float64) float64 { return Exp(v[0]) },
		"pow":  func(v []float64) float64 { return Pow(v[0], v[1]) },
	}
	file, err := os.Open("testdata/elementary.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	count := 0
	for lines := bufio.NewScanner(file); lines.Scan(); count++ {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		if name == "#" {
			continue
		}
		var v []float64
		for word := range strings.FieldsSeq(rest) {
			bits, err := strconv.ParseUint(word, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			v = append(v, math.Float64frombits(bits))
		}
		arguments, want := v[:len(v)-1], v[len(v)-1]
		if got := functions[name](arguments); got != want {
			t.Errorf("%s(%v) = %v, want %v", name, arguments, got, want)
		}
	}
	if count < 2000 {
		t.Errorf("only %d vectors", count)
	}
}

func TestSpecialCases(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"sin -0", Sin(zero), zero}, {"sin inf", Sin(inf), nan}, {"cos 0", Cos(0), 1}, {"cos nan", Cos(nan), nan},
		{"asin -0", Asin(zero), zero}, {"asin 1", Asin(1), math.Pi / 2}, {"asin -1", Asin(-1), -math.Pi / 2}, {"asin 1.1", Asin(1.1), nan},
		{"acos 1", Acos(1), 0}, {"acos -1", Acos(-1), math.Pi}, {"acos 0", Acos(0), math.Pi / 2}, {"acos nan", Acos(nan), nan},
		{"exp 0", Exp(0), 1}, {"exp inf", Exp(inf), inf}, {"exp -inf", Exp(-inf), 0}, {"exp 709.79", Exp(709.79), inf},
		{"exp -745.14", Exp(-745.14), 0}, {"exp -745.13", Exp(-745.13), 5e-324}, {"exp nan", Exp(nan), nan},
		{"pow 0^-5", Pow(0, -5), inf}, {"pow 0^5", Pow(0, 5), 0}, {"pow inf^-0.2", Pow(inf, -0.2), 0}, {"pow inf^2", Pow(inf, 2), inf},
		{"pow nan^0", Pow(nan, 0), 1}, {"pow -1^2", Pow(-1, 2), nan}, {"pow 2^nan", Pow(2, nan), nan}, {"pow 1^inf", Pow(1, inf), 1},
		{"pow .5^-inf", Pow(0.5, -inf), inf}, {"pow 10^-400", Pow(10, -400), 0}, {"pow 10^3", Pow(10, 3), 1000},
	} {
		if math.Float64bits(c.got) != math.Float64bits(c.want) && !(c.got != c.got && c.want != c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func BenchmarkSincos(b *testing.B) {
	for i := range b.N {
		Sincos(float64(i) * 1e-3)
	}
}

func BenchmarkAcos(b *testing.B) {
	for i := range b.N {
		Acos(float64(i%2000)*1e-3 - 1)
	}
}

func BenchmarkExp(b *testing.B) {
	for i := range b.N {
		Exp(float64(i%2000)*1e-2 - 10)
	}
}
