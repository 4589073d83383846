package dag

import (
	"cmp"

	"github.com/mleflow/mleflow/engine/internal/minheap"
)

// sort returns the smallest topological order. It is shorter than n if there is
// a cycle.
func (g *Graph) sort() []int {
	if g.inOrder() {
		return identity(g.n)
	}
	missing := make([]int, g.n)
	ready := minheap.New(cmp.Less[int])
	for i := range g.n {
		if missing[i] = len(g.Pred(i)); missing[i] == 0 {
			ready.Push(i)
		}
	}
	order := make([]int, 0, g.n)
	for ready.Len() > 0 {
		i := ready.Pop()
		order = append(order, i)
		for _, s := range g.Succ(i) {
			if missing[s]--; missing[s] == 0 {
				ready.Push(s)
			}
		}
	}
	return order
}

// inOrder reports whether every edge leads to a higher number.
func (g *Graph) inOrder() bool {
	for i := range g.n {
		for _, s := range g.Succ(i) {
			if s <= i {
				return false
			}
		}
	}
	return true
}

func identity(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}
