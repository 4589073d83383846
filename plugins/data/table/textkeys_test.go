package table

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestIntrosortTexts compares with the sort of the strings themselves, which
// TestSort compares with numpy: equal strings must land in the same order too.
func TestIntrosortTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, text := range map[string]func(i int) string{
		"hexadecimal":          func(int) string { return fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64()) },
		"hexadecimal and ties": func(int) string { return fmt.Sprintf("%032x", rng.IntN(50)) },
		"odd beginnings":       func(i int) string { return fmt.Sprintf("%d/%d", i%97/96, rng.IntN(2000)) },
		"equal beginnings":     func(int) string { return fmt.Sprintf("train/images/%d.jpg", rng.IntN(2000)) },
		"far apart":            func(int) string { return strings.Repeat("x", rng.IntN(40)) },
		"long ties":            func(int) string { return fmt.Sprint(rng.IntN(3), strings.Repeat("a", 20), rng.IntN(9)) },
		"zero bytes":           func(int) string { return strings.Repeat("\x00", rng.IntN(12)) },
		"all equal":            func(int) string { return "same" },
		"empty":                func(int) string { return "" },
		"in order":             func(i int) string { return fmt.Sprintf("%08d", i) },
		"some upper case":      func(i int) string { return fmt.Sprintf("%016X%x", rng.Uint64(), i) },
		"bytes above ASCII":    func(int) string { return string([]byte{byte(rng.Uint32()), byte(rng.Uint32())}) },
	} {
		for _, n := range []int{0, 1, 300, 5000} {
			v := make([]string, n)
			for i := range v {
				v[i] = text(i)
			}
			want := ascending(n)
			introsort(v, want)
			got := introsortTexts(n, func(k int) string { return v[k] }, nil)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d texts (-introsort +got):\n%.400s", name, n, diff)
			}
		}
	}
}
