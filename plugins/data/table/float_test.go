package table

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestParsePlain compares with strconv, which rounds to the nearest double.
func TestParsePlain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := 0
	for range 100_000 {
		digits := 1 + r.IntN(19)
		s := strconv.FormatUint(r.Uint64(), 10) + strconv.FormatUint(r.Uint64(), 10)
		s = s[:digits]
		if at := r.IntN(digits + 1); r.IntN(8) > 0 {
			s = s[:at] + "." + s[at:]
		}
		if r.IntN(2) == 0 {
			s = "-" + s
		}
		d, ok := parsePlain([]byte(s))
		got := d.f
		if !ok {
			continue
		}
		seen++
		if d.mantissa < 1<<53 && math.Float64bits(float64(d.mantissa)/pow10[d.places]) != math.Float64bits(math.Abs(got)) {
			t.Fatalf("%s: %v is not %d over 10^%d", s, got, d.mantissa, d.places)
		}
		if want, _ := strconv.ParseFloat(s, 64); math.Float64bits(want) != math.Float64bits(got) {
			t.Fatalf("%s: got %v, want %v", s, got, want)
		}
	}
	if seen < 97_000 {
		t.Errorf("only %d numbers were plain", seen)
	}
}

// TestParsePlainHalfway reads numbers next to the middle of two doubles.
func TestParsePlainHalfway(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 30_000 {
		m := r.Uint64N(1<<53) | 1<<52
		for _, d := range []uint64{m<<1 | 1, m<<2 | 2, m<<3 | 4, m*625 + 312, m*5 + 2, m*10 + 5} {
			s := strconv.FormatUint(d, 10)
			at := r.IntN(len(s))
			s = s[:at] + "." + s[at:]
			d, ok := parsePlain([]byte(s))
			got := d.f
			if want, _ := strconv.ParseFloat(s, 64); ok && want != got {
				t.Fatalf("%s: got %v, want %v", s, got, want)
			}
		}
	}
}

// TestAppendFloat checks the short way against the general one.
func TestAppendFloat(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	check := func(v float64) {
		t.Helper()
		got := FormatFloat(v)
		want := strconv.FormatFloat(v, 'f', -1, 64)
		if v == math.Trunc(v) {
			want += ".0"
		}
		if abs := math.Abs(v); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
			want = strconv.FormatFloat(v, 'e', -1, 64)
		}
		if got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e-4, 0.000101, 9.9e-5, 999999999, 999999999.999999, 1e9, 1e15, 1e16, 5e-324, 0.5000005, 123456.789} {
		check(v)
		check(-v)
	}
	for range 100_000 {
		v := float64(r.Int64N(1e15)) / math.Pow(10, float64(r.IntN(12)))
		check(v)
		check(math.Nextafter(v, 0))
		check(r.NormFloat64() * 100)
	}
}
