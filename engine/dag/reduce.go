package dag

import "slices"

// Reduce returns the transitive reduction: the same nodes with the fewest edges
// that preserve reachability. It is meant for drawings. Its worst-case time is
// proportional to the product of nodes and edges.
func (g *Graph) Reduce() *Graph {
	r := &reducer{g: g, rank: make([]int, g.n), seen: make([]int, g.n)}
	for k, i := range g.order {
		r.rank[i] = k
	}
	b := newBuilder(g.n, 0)
	for i := range g.n {
		for _, s := range r.needed(i) {
			b.AddEdge(i, s)
		}
	}
	return b.acyclic()
}

type reducer struct {
	g     *Graph
	rank  []int // position in the topological order
	seen  []int // seen[v] == i+1: v is reached from a successor of i
	stack []int
}

// needed returns the successors of i that no other successor of i reaches, in
// order.
func (r *reducer) needed(i int) []int {
	succ := r.g.Succ(i)
	if len(succ) < 2 {
		return succ
	}
	byRank := slices.Clone(succ)
	slices.SortFunc(byRank, func(a, b int) int { return r.rank[a] - r.rank[b] })
	last := r.rank[byRank[len(byRank)-1]]
	for _, s := range byRank {
		if r.seen[s] != i+1 {
			r.mark(s, i+1, last)
		}
	}
	return slices.DeleteFunc(slices.Clone(succ), func(s int) bool { return r.seen[s] == i+1 })
}

// mark marks the nodes after s, up to the given rank. It does not mark s
// itself.
func (r *reducer) mark(s, stamp, last int) {
	r.stack = append(r.stack[:0], s)
	for len(r.stack) > 0 {
		at := r.stack[len(r.stack)-1]
		r.stack = r.stack[:len(r.stack)-1]
		for _, v := range r.g.Succ(at) {
			if r.seen[v] != stamp && r.rank[v] <= last {
				r.seen[v] = stamp
				r.stack = append(r.stack, v)
			}
		}
	}
}
