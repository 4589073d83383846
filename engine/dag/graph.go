package dag

import (
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/engine/internal/minheap"
)

// Graph is a directed acyclic graph. It never changes.
type Graph struct {
	pred, succ [][]int
	edges      int
}

// FromAfter returns the graph in which node i comes after every node of
// after[i], which it keeps. These must have lower numbers than i, so that there is no
// cycle.
func FromAfter(after [][]int) (*Graph, error) {
	counts, edges := make([]int, len(after)), 0
	for i, before := range after {
		for _, b := range before {
			if b < 0 || b >= i {
				return nil, fmt.Errorf("number %d comes after number %d, which is not before it", i, b)
			}
			counts[b]++
		}
		edges += len(before)
	}
	g := &Graph{pred: after, succ: make([][]int, len(after)), edges: edges}
	all := make([]int, edges) // of all lists
	for i, n := range counts {
		g.succ[i], all = all[:0:n], all[n:]
	}
	for i, before := range after {
		for _, b := range before {
			g.succ[b] = append(g.succ[b], i)
		}
	}
	return g, nil
}

// Edges returns the number of edges.
func (g *Graph) Edges() int { return g.edges }

// Succ returns the nodes with an edge from i, in ascending order. The caller must not
// change them.
func (g *Graph) Succ(i int) []int { return g.succ[i] }

// Pred returns the nodes with an edge to i, in the order in which they were given. The
// caller must not change them.
func (g *Graph) Pred(i int) []int { return g.pred[i] }

// Walk visits the nodes, each after those before it, until visit returns false. Of the
// nodes that may come next, the least comes first.
func (g *Graph) Walk(less func(a, b int) bool, visit func(node int) bool) {
	missing := make([]int, len(g.pred))
	ready := minheap.New(less)
	for i := range missing {
		if missing[i] = len(g.Pred(i)); missing[i] == 0 {
			ready.Push(i)
		}
	}
	for ready.Len() > 0 {
		i := ready.Pop()
		if !visit(i) {
			return
		}
		for _, s := range g.Succ(i) {
			if missing[s]--; missing[s] == 0 {
				ready.Push(s)
			}
		}
	}
}

// Longest returns, for every node, the largest sum of weights along a path that
// starts there, including its own weight. Weights must not be negative.
func (g *Graph) Longest(weight func(node int) int64) []int64 {
	longest := make([]int64, len(g.succ))
	for i, succ := range slices.Backward(g.succ) {
		for _, s := range succ {
			longest[i] = max(longest[i], longest[s])
		}
		longest[i] += weight(i)
	}
	return longest
}

// Reduce returns the transitive reduction: the same nodes with the fewest edges
// that preserve reachability. It is meant for drawings. Its worst-case time is
// proportional to the product of nodes and edges.
func (g *Graph) Reduce() *Graph {
	r := &reducer{g: g, seen: make([]int, len(g.succ))}
	after := make([][]int, len(g.succ))
	for i := range g.succ {
		for _, s := range r.needed(i) {
			after[s] = append(after[s], i)
		}
	}
	reduced, err := FromAfter(after)
	if err != nil {
		panic("dag: part of a graph: " + err.Error())
	}
	return reduced
}

type reducer struct {
	g     *Graph
	seen  []int // seen[v] == i+1: v is reached from a successor of i
	stack []int
}

// needed returns the successors of i that no other successor of i reaches, in
// order.
func (r *reducer) needed(i int) []int {
	succ := slices.Compact(slices.Clone(r.g.Succ(i)))
	for _, s := range succ {
		if r.seen[s] != i+1 {
			r.mark(s, i+1, succ[len(succ)-1])
		}
	}
	return slices.DeleteFunc(succ, func(s int) bool { return r.seen[s] == i+1 })
}

// mark marks the nodes after s, up to the last one. It does not mark s
// itself.
func (r *reducer) mark(s, stamp, last int) {
	r.stack = append(r.stack[:0], s)
	for len(r.stack) > 0 {
		at := r.stack[len(r.stack)-1]
		r.stack = r.stack[:len(r.stack)-1]
		for _, v := range r.g.Succ(at) {
			if r.seen[v] != stamp && v <= last {
				r.seen[v] = stamp
				r.stack = append(r.stack, v)
			}
		}
	}
}
