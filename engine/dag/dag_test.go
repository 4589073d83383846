package dag

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dominikbraun/graph"
	"github.com/google/go-cmp/cmp"
)

// fromEdges is the graph of n nodes with edges to higher numbers.
func fromEdges(n int, edges ...[2]int) (*Graph, error) {
	after := make([][]int, n)
	for _, e := range edges {
		after[e[1]] = append(after[e[1]], e[0])
	}
	return FromAfter(after)
}

func mustBuild(t *testing.T, n int, edges ...[2]int) *Graph {
	t.Helper()
	g, err := fromEdges(n, edges...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The diamond 0 → 1, 2 → 3 with a tail 3 → 4.
func diamond(t *testing.T) *Graph {
	return mustBuild(t, 5, [2]int{0, 2}, [2]int{0, 1}, [2]int{1, 3}, [2]int{2, 3}, [2]int{3, 4})
}

func TestNeighbours(t *testing.T) {
	g := diamond(t)
	if g.Edges() != 5 {
		t.Errorf("Edges = %d, want 5", g.Edges())
	}
	if d := cmp.Diff([]int{1, 2}, g.Succ(0)); d != "" {
		t.Errorf("Succ(0) (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]int{1, 2}, g.Pred(3)); d != "" {
		t.Errorf("Pred(3) (-want +got):\n%s", d)
	}
}

// TestRefused sees that an edge leads only to a higher number.
func TestRefused(t *testing.T) {
	for name, after := range map[string][][]int{
		"itself": {nil, {1}}, "a later one": {{1}, nil}, "a cycle": {{1}, {0}}, "no node": {nil, {7}}, "negative": {nil, {-1}},
	} {
		if g, err := FromAfter(after); err == nil || !strings.Contains(err.Error(), "which is not before it") {
			t.Errorf("%s: got %v, %v", name, g, err)
		}
	}
}

// TestRepeated sees that an edge that is given twice makes no difference to the order.
func TestRepeated(t *testing.T) {
	g, err := FromAfter([][]int{nil, {0, 0}, {1}})
	if err != nil {
		t.Fatal(err)
	}
	checkOrder(t, g)
	if d := cmp.Diff([]int64{3, 2, 1}, g.Longest(func(int) int64 { return 1 })); d != "" {
		t.Errorf("Longest (-want +got):\n%s", d)
	}
	if got := g.Reduce().Edges(); got != 2 {
		t.Errorf("%d edges in the reduction, want 2", got)
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

// TestAgainstLibrary compares the transitive reduction of random graphs with that of
// dominikbraun/graph v0.23.0.
func TestAgainstLibrary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		n := 1 + rnd.IntN(14)
		oracle := graph.New(graph.IntHash, graph.Directed())
		for i := range n {
			_ = oracle.AddVertex(i)
		}
		var edges [][2]int
		for range rnd.IntN(3 * n) {
			i, j := rnd.IntN(n), rnd.IntN(n)
			if i < j && oracle.AddEdge(i, j) == nil {
				edges = append(edges, [2]int{i, j})
			}
		}
		g := mustBuild(t, n, edges...)
		checkOrder(t, g)
		checkReduction(t, g, oracle)
	}
}

// checkOrder checks walks by numbers, and against them: every node
// comes as soon as its predecessors are there and no lesser node can come.
func checkOrder(t *testing.T, g *Graph) {
	t.Helper()
	n := len(g.pred)
	for _, less := range []func(a, b int) bool{func(a, b int) bool { return a > b }, func(a, b int) bool { return a < b }} {
		done := make([]bool, n)
		var order []int
		g.Walk(less, func(got int) bool {
			want := -1
			for i := range n {
				if !done[i] && !slices.ContainsFunc(g.Pred(i), func(p int) bool { return !done[p] }) && (want < 0 || less(i, want)) {
					want = i
				}
			}
			if got != want {
				t.Fatalf("after %v comes %d where %d can come", order, got, want)
			}
			done[got] = true
			order = append(order, got)
			return true
		})
		if len(order) != n {
			t.Fatalf("%d of %d nodes visited", len(order), n)
		}
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
	for i := range g.succ {
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
	for _, e := range [][2]string{{"download", "prepare"}, {"prepare", "grade"}, {"download", "grade"}, {"download", "prepare"}} {
		if err := g.AddEdge(e[0], e[1]); err != nil {
			t.Fatal(err)
		}
	}
	made, err := g.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if g.Key(0) != "download" || g.Key(2) != "grade" || g.Len() != 3 || made.Edges() != 3 || g.Add("prepare") != 1 {
		t.Errorf("%d nodes, %d edges", g.Len(), made.Edges())
	}
	if d := cmp.Diff([]int{1, 2}, made.Succ(0)); d != "" {
		t.Errorf("Succ(0) (-want +got):\n%s", d)
	}
	if err := g.AddEdge("grade", "download"); err != nil {
		t.Fatal(err)
	}
	if made, err := g.Graph(); err == nil {
		t.Errorf("an edge back: %v", made)
	}
}
