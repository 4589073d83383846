package dag

import (
	"fmt"
	"slices"
	"strings"
)

// CycleError means that the graph has a cycle.
type CycleError[K comparable] struct {
	// Path follows the edges once around the cycle; its first and last
	// elements are the same node.
	Path []K
}

// Error returns "cycle: a → b → a".
func (e *CycleError[K]) Error() string {
	names := make([]string, len(e.Path))
	for i, k := range e.Path {
		names[i] = fmt.Sprint(k)
	}
	return "cycle: " + strings.Join(names, " → ")
}

// cycle returns a cycle of a cyclic graph: the shortest one through a node
// found by onCycle, starting and ending at its lowest node.
func (g *Graph) cycle() []int {
	at := g.onCycle()
	loop := shortestPath(at, at, g.n, g.Succ)
	low := 0
	for i, v := range loop {
		if v < loop[low] {
			low = i
		}
	}
	path := append(loop[low:len(loop):len(loop)], loop[:low]...)
	return append(path, path[0])
}

// onCycle returns a node of a cycle. Every node that the sort did not reach has
// an unreached predecessor, so a backward walk among them ends in a cycle.
func (g *Graph) onCycle() int {
	reached := make([]bool, g.n)
	for _, i := range g.order {
		reached[i] = true
	}
	at := 0
	for reached[at] {
		at++
	}
	for seen := make([]bool, g.n); !seen[at]; {
		seen[at] = true
		for _, p := range g.Pred(at) {
			if !reached[p] {
				at = p
				break
			}
		}
	}
	return at
}

// shortestPath returns the nodes of a shortest path of at least one edge from
// start to goal, without goal itself, or nil if there is none.
func shortestPath(start, goal, n int, next func(int) []int) []int {
	from := make([]int, n)
	for i := range from {
		from[i] = -1
	}
	queue := []int{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, s := range next(at) {
			if s == goal {
				return backtrack(from, start, at)
			}
			if from[s] < 0 && s != start {
				from[s] = at
				queue = append(queue, s)
			}
		}
	}
	return nil
}

func backtrack(from []int, start, at int) []int {
	path := []int{at}
	for at != start {
		at = from[at]
		path = append(path, at)
	}
	slices.Reverse(path)
	return path
}
