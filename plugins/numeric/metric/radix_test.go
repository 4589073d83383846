package metric

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRadixSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, key := range map[string]func() uint64{
		"all bits":  rng.Uint64,
		"low bits":  func() uint64 { return 1<<63 | rng.Uint64()>>50 },
		"many ties": func() uint64 { return rng.Uint64N(5) << 40 },
		"few heads": func() uint64 { return rng.Uint64N(3)<<62 | rng.Uint64N(1000) },
	} {
		for _, n := range []int{0, 1, 2, 5000} {
			v := make([]uint64, n)
			for i := range v {
				v[i] = key()
			}
			want := slices.Sorted(slices.Values(v))
			if radixSort(v); !slices.Equal(v, want) {
				t.Errorf("%s: %d keys are not in order", name, n)
			}
		}
	}
}
