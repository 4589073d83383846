package dag

import (
	"fmt"
	"io"
	"testing"
)

// layered is a graph like a pipeline's: each node depends on up to three of
// the nodes shortly before it. Numbers are reversed when asked, so that the
// order is not the trivial one.
func layered(n int, reverse bool) *builder {
	b := newBuilder(n, 3*n)
	for i := range n {
		for _, back := range []int{1, 7, 130} {
			if j := i - back; j >= 0 && reverse {
				b.AddEdge(n-1-j, n-1-i)
			} else if j >= 0 {
				b.AddEdge(j, i)
			}
		}
	}
	return b
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for _, reverse := range []bool{false, true} {
			b.Run(fmt.Sprintf("nodes=%d/reversed=%v", n, reverse), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := layered(n, reverse).Build(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkQueries(b *testing.B) {
	const n = 100_000
	g, err := layered(n, true).Build()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("longest", func(b *testing.B) {
		for b.Loop() {
			g.Longest(func(int) int64 { return 1 })
		}
	})
	small, err := layered(2_000, true).Build()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("reduce-nodes=2000", func(b *testing.B) {
		for b.Loop() {
			small.Reduce()
		}
	})
	b.Run("dot-nodes=100000", func(b *testing.B) {
		d := Draw(g, make([]DrawnNode, n))
		for b.Loop() {
			if err := d.WriteDOT(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkKeyed(b *testing.B) {
	const n = 500
	for b.Loop() {
		g := NewKeyed[string]()
		for i := range n {
			for j := max(0, i-3); j < i; j++ {
				if err := g.AddEdge(fmt.Sprint(j), fmt.Sprint(i)); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}
