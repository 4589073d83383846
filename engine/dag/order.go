package dag

import "container/heap"

// sort returns the smallest topological order. It is shorter than n if there is
// a cycle.
func (g *Graph) sort() []int {
	if g.inOrder() {
		return identity(g.n)
	}
	missing := make([]int, g.n)
	ready := &intHeap{}
	for i := range g.n {
		if missing[i] = len(g.Pred(i)); missing[i] == 0 {
			*ready = append(*ready, i) // ascending, hence already a heap
		}
	}
	order := make([]int, 0, g.n)
	for len(*ready) > 0 {
		i := heap.Pop(ready).(int)
		order = append(order, i)
		for _, s := range g.Succ(i) {
			if missing[s]--; missing[s] == 0 {
				heap.Push(ready, s)
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

type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
