package random_test

import (
	"fmt"
	"testing"

	"github.com/mleflow/mleflow/plugins/numeric/random"
)

func BenchmarkPermutation(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000, 55_000_000} {
		b.Run(fmt.Sprintf("source=RandomState/rows=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n))
			for b.Loop() {
				random.Permutation(random.NewRandomState(0), n)
			}
		})
	}
	b.Run("source=Python/rows=1000000", func(b *testing.B) {
		for b.Loop() {
			random.Permutation(random.NewPython(0), 1_000_000)
		}
	})
}

func BenchmarkIntegers(b *testing.B) {
	r := random.NewRandomState(0)
	for b.Loop() {
		if _, err := r.Integers(1, 7, 100_000); err != nil {
			b.Fatal(err)
		}
	}
}
