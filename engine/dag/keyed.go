package dag

import (
	"errors"
	"fmt"

	"github.com/dominikbraun/graph"
)

// Keyed is a graph of named nodes that never becomes cyclic. It is meant for
// the blocks of a file: each AddEdge may traverse the whole graph.
type Keyed[K comparable] struct {
	index map[K]int
	keys  []K
	succ  [][]int
	graph graph.Graph[int, int]
}

// NewKeyed returns a graph without nodes.
func NewKeyed[K comparable]() *Keyed[K] {
	return &Keyed[K]{index: map[K]int{}, graph: graph.New(graph.IntHash, graph.Directed(), graph.PreventCycles())}
}

// Add adds a node unless the name exists. It returns the node's number.
func (g *Keyed[K]) Add(k K) int {
	if i, ok := g.index[k]; ok {
		return i
	}
	i := len(g.keys)
	g.index[k] = i
	g.keys = append(g.keys, k)
	g.succ = append(g.succ, nil)
	// The library cannot reject a vertex with a new number.
	_ = g.graph.AddVertex(i)
	return i
}

// AddEdge adds an edge from a node to one that comes after it, and the nodes if
// they are missing. It does not add an edge that would close a cycle. It then
// returns a *CycleError[K] whose path begins at from.
func (g *Keyed[K]) AddEdge(from, to K) error {
	i, j := g.Add(from), g.Add(to)
	switch err := g.graph.AddEdge(i, j); {
	case errors.Is(err, graph.ErrEdgeCreatesCycle):
		return &CycleError[K]{Path: g.closing(i, j)}
	case errors.Is(err, graph.ErrEdgeAlreadyExists):
		return nil
	case err != nil:
		return fmt.Errorf("add edge %v to %v: %w", from, to, err)
	}
	g.succ[i] = append(g.succ[i], j)
	return nil
}

// closing returns the cycle that an edge from i to j would close.
func (g *Keyed[K]) closing(i, j int) []K {
	path := []int{i}
	if i != j {
		path = append(path, shortestPath(j, i, len(g.keys), func(v int) []int { return g.succ[v] })...)
	}
	names := make([]K, 0, len(path)+1)
	for _, v := range append(path, i) {
		names = append(names, g.keys[v])
	}
	return names
}

// Len returns the number of nodes.
func (g *Keyed[K]) Len() int { return len(g.keys) }

// Key returns the name of a node.
func (g *Keyed[K]) Key(i int) K { return g.keys[i] }

// Graph returns the current graph, by number.
func (g *Keyed[K]) Graph() *Graph {
	b := newBuilder(len(g.keys), 0)
	for from, list := range g.succ {
		for _, to := range list {
			b.AddEdge(from, to)
		}
	}
	return b.acyclic()
}

// acyclic builds a graph that is known to be acyclic.
func (b *builder) acyclic() *Graph {
	g, err := b.Build()
	if err != nil {
		panic("dag: part of an acyclic graph has a " + err.Error())
	}
	return g
}
