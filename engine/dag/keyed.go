package dag

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dominikbraun/graph"
)

// Keyed is a graph of named nodes. It is meant for the blocks of a file.
type Keyed[K comparable] struct {
	index map[K]int
	keys  []K
	graph graph.Graph[int, int]
}

// NewKeyed returns a graph without nodes.
func NewKeyed[K comparable]() *Keyed[K] {
	return &Keyed[K]{index: map[K]int{}, graph: graph.New(graph.IntHash, graph.Directed())}
}

// Add adds a node unless the name exists. It returns the node's number.
func (g *Keyed[K]) Add(k K) int {
	if i, ok := g.index[k]; ok {
		return i
	}
	i := len(g.keys)
	g.index[k] = i
	g.keys = append(g.keys, k)
	// The library cannot reject a vertex with a new number.
	_ = g.graph.AddVertex(i)
	return i
}

// AddEdge adds an edge from a node to one that comes after it, and the nodes if
// they are missing.
func (g *Keyed[K]) AddEdge(from, to K) error {
	err := g.graph.AddEdge(g.Add(from), g.Add(to))
	if err != nil && !errors.Is(err, graph.ErrEdgeAlreadyExists) {
		return fmt.Errorf("add edge %v to %v: %w", from, to, err)
	}
	return nil
}

// Len returns the number of nodes.
func (g *Keyed[K]) Len() int { return len(g.keys) }

// Key returns the name of a node.
func (g *Keyed[K]) Key(i int) K { return g.keys[i] }

// Graph returns the current graph, by number. A node must have been added after those
// before it.
func (g *Keyed[K]) Graph() (*Graph, error) {
	before, err := g.graph.PredecessorMap()
	if err != nil {
		return nil, err
	}
	after := make([][]int, len(g.keys))
	for i, edges := range before {
		after[i] = slices.Sorted(maps.Keys(edges))
	}
	return FromAfter(after)
}
