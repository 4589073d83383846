package dag

import (
	"fmt"
	"io"
	"testing"
)

// layered are the lists of a graph like a pipeline's: each node depends on up to three of
// the nodes shortly before it.
func layered(n int) [][]int {
	after := make([][]int, n)
	for i := range n {
		for _, back := range []int{130, 7, 1} {
			if j := i - back; j >= 0 {
				after[i] = append(after[i], j)
			}
		}
	}
	return after
}

func build(b *testing.B, after [][]int) *Graph {
	g, err := FromAfter(after)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			after := layered(n)
			b.ReportAllocs()
			for b.Loop() {
				build(b, after)
			}
		})
	}
}

func BenchmarkQueries(b *testing.B) {
	const n = 100_000
	g := build(b, layered(n))
	b.Run("longest", func(b *testing.B) {
		for b.Loop() {
			g.Longest(func(int) int64 { return 1 })
		}
	})
	small := build(b, layered(2_000))
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
