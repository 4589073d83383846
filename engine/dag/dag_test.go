package dag

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dominikbraun/graph"
	"github.com/google/go-cmp/cmp"
)

func build(t *testing.T, n int, edges ...[2]int) *Graph {
	t.Helper()
	b := newBuilder(n, len(edges))
	for _, e := range edges {
		b.AddEdge(e[0], e[1])
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The diamond 0 → 1, 2 → 3 with a tail 3 → 4.
func diamond(t *testing.T) *Graph {
	return build(t, 5, [2]int{0, 2}, [2]int{0, 1}, [2]int{1, 3}, [2]int{2, 3}, [2]int{3, 4}, [2]int{0, 1})
}

func TestNeighbours(t *testing.T) {
	g := diamond(t)
	if g.n != 5 || g.Edges() != 5 {
		t.Errorf("Len, Edges = %d, %d, want 5, 5 (the edge 0 → 1 was added twice)", g.n, g.Edges())
	}
	if d := cmp.Diff([]int{2, 1}, g.Succ(0)); d != "" {
		t.Errorf("Succ(0) (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]int{1, 2}, g.Pred(3)); d != "" {
		t.Errorf("Pred(3) (-want +got):\n%s", d)
	}
}

func TestOrder(t *testing.T) {
	tests := []struct {
		name  string
		n     int
		edges [][2]int
		want  []int
	}{
		{"no nodes", 0, nil, []int{}},
		{"no edges", 3, nil, []int{0, 1, 2}},
		{"backwards chain", 3, [][2]int{{2, 1}, {1, 0}}, []int{2, 1, 0}},
		{"lowest first", 5, [][2]int{{4, 0}, {3, 2}}, []int{1, 3, 2, 4, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, build(t, tt.n, tt.edges...).order); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestCycle(t *testing.T) {
	tests := []struct {
		name  string
		n     int
		edges [][2]int
		want  []int
	}{
		{"self", 2, [][2]int{{1, 1}}, []int{1, 1}},
		{"two", 3, [][2]int{{0, 1}, {2, 1}, {1, 2}}, []int{1, 2, 1}},
		{"behind a tail", 6, [][2]int{{4, 3}, {3, 2}, {2, 4}, {4, 0}, {0, 1}, {5, 4}}, []int{2, 4, 3, 2}},
		{"shortest of two", 5, [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 0}, {2, 0}}, []int{0, 1, 2, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBuilder(tt.n, 0)
			for _, e := range tt.edges {
				b.AddEdge(e[0], e[1])
			}
			_, err := b.Build()
			var cycle *CycleError[int]
			if !errors.As(err, &cycle) {
				t.Fatalf("error %v, want a cycle", err)
			}
			if d := cmp.Diff(tt.want, cycle.Path); d != "" {
				t.Errorf("path (-want +got):\n%s", d)
			}
		})
	}
}

func TestLongest(t *testing.T) {
	weights := []int64{1, 5, 20, 3, 0}
	weight := func(i int) int64 { return weights[i] }
	g := diamond(t)
	if d := cmp.Diff([]int64{24, 8, 23, 3, 0}, g.Longest(weight)); d != "" {
		t.Errorf("Longest (-want +got):\n%s", d)
	}
}

// TestAgainstLibrary compares random graphs with dominikbraun/graph v0.23.0:
// its stable topological order must be reproduced as an order that is valid,
// its transitive reduction exactly, and both must agree on what is a cycle.
func TestAgainstLibrary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	cycles := 0
	for range 400 {
		n := 1 + rnd.IntN(14)
		b, oracle := newBuilder(n, 0), graph.New(graph.IntHash, graph.Directed())
		for i := range n {
			_ = oracle.AddVertex(i)
		}
		perm := rnd.Perm(n)
		for range rnd.IntN(3 * n) {
			i, j := rnd.IntN(n), rnd.IntN(n)
			if i == j {
				continue
			}
			if rnd.IntN(12) > 0 && perm[i] > perm[j] { // mostly forwards
				i, j = j, i
			}
			b.AddEdge(i, j)
			_ = oracle.AddEdge(i, j)
		}
		g, err := b.Build()
		_, oracleErr := graph.StableTopologicalSort(oracle, func(a, b int) bool { return a < b })
		if (err != nil) != (oracleErr != nil) {
			t.Fatalf("Build: %v, library: %v", err, oracleErr)
		}
		if err != nil {
			cycles++
			checkCycle(t, b, err)
			continue
		}
		checkOrder(t, g)
		checkReduction(t, g, oracle)
	}
	if cycles < 20 || cycles > 380 {
		t.Errorf("%d of 400 graphs have a cycle: the mix tests too little", cycles)
	}
}

func checkCycle(t *testing.T, b *builder, err error) {
	t.Helper()
	var cycle *CycleError[int]
	if !errors.As(err, &cycle) {
		t.Fatalf("error %v, want a cycle", err)
	}
	p := cycle.Path
	if p[0] != p[len(p)-1] || p[0] != slices.Min(p) {
		t.Errorf("path %v is not closed at its lowest node", p)
	}
	for i := range len(p) - 1 {
		if !slices.Contains(b.succOf(p[i]), p[i+1]) {
			t.Errorf("path %v: no edge %d → %d", p, p[i], p[i+1])
		}
	}
}

func (b *builder) succOf(i int) (out []int) {
	for k := range b.from {
		if b.from[k] == i {
			out = append(out, b.to[k])
		}
	}
	return out
}

// checkOrder checks that the order is the smallest: every node comes as soon
// as its predecessors are there and no lower node can come.
func checkOrder(t *testing.T, g *Graph) {
	t.Helper()
	done := make([]bool, g.n)
	for _, got := range g.order {
		want := slices.IndexFunc(identity(g.n), func(i int) bool {
			return !done[i] && !slices.ContainsFunc(g.Pred(i), func(p int) bool { return !done[p] })
		})
		if got != want {
			t.Fatalf("order %v has %d where %d can come", g.order, got, want)
		}
		done[got] = true
	}
}

func checkReduction(t *testing.T, g *Graph, oracle graph.Graph[int, int]) {
	t.Helper()
	reduced, err := graph.TransitiveReduction(oracle)
	if err != nil {
		t.Fatal(err)
	}
	adjacent, err := reduced.AdjacencyMap()
	if err != nil {
		t.Fatal(err)
	}
	got := g.Reduce()
	for i := range g.n {
		want := []int{}
		for _, s := range g.Succ(i) {
			if _, ok := adjacent[i][s]; ok {
				want = append(want, s)
			}
		}
		if d := cmp.Diff(want, append([]int{}, got.Succ(i)...)); d != "" {
			t.Fatalf("reduced Succ(%d) (-library +got):\n%s", i, d)
		}
	}
}

func TestKeyed(t *testing.T) {
	g := NewKeyed[string]()
	g.Add("grade")
	for _, e := range [][2]string{{"download", "prepare"}, {"prepare", "grade"}, {"download", "prepare"}} {
		if err := g.AddEdge(e[0], e[1]); err != nil {
			t.Fatal(err)
		}
	}
	names := make([]string, 0, g.Len())
	for _, i := range g.Graph().order {
		names = append(names, g.Key(i))
	}
	if d := cmp.Diff([]string{"download", "prepare", "grade"}, names); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	err := g.AddEdge("grade", "download")
	var cycle *CycleError[string]
	if !errors.As(err, &cycle) {
		t.Fatalf("error %v, want a cycle", err)
	}
	if want := "cycle: grade → download → prepare → grade"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	if err := g.AddEdge("prepare", "prepare"); err == nil || err.Error() != "cycle: prepare → prepare" {
		t.Errorf("self edge: error %v", err)
	}
	if g.Key(0) != "grade" || g.Len() != 3 || g.Graph().Edges() != 2 {
		t.Errorf("refused edges changed the graph: %d nodes, %d edges", g.Len(), g.Graph().Edges())
	}
}
