package dag

import "github.com/dominikbraun/graph"

// orderedStore is a graph.Store of the vertices 0 to n-1 that lists vertices
// and edges in insertion order. It only grows.
type orderedStore struct {
	out   [][]int
	edges []graph.Edge[int]
	place map[[2]int]int // index in edges
}

func (s *orderedStore) succ(i int) []int { return s.out[i] }

func (s *orderedStore) has(i int) bool { return i >= 0 && i < len(s.out) }

func (s *orderedStore) AddVertex(i, _ int, _ graph.VertexProperties) error {
	if i != len(s.out) {
		return graph.ErrVertexAlreadyExists
	}
	s.out = append(s.out, nil)
	return nil
}

func (s *orderedStore) Vertex(i int) (int, graph.VertexProperties, error) {
	if !s.has(i) {
		return 0, graph.VertexProperties{}, graph.ErrVertexNotFound
	}
	return i, graph.VertexProperties{}, nil
}

func (s *orderedStore) RemoveVertex(int) error { return graph.ErrVertexHasEdges }

func (s *orderedStore) ListVertices() ([]int, error) { return identity(len(s.out)), nil }

func (s *orderedStore) VertexCount() (int, error) { return len(s.out), nil }

func (s *orderedStore) AddEdge(from, to int, e graph.Edge[int]) error {
	if !s.has(from) || !s.has(to) {
		return graph.ErrVertexNotFound
	}
	if _, ok := s.place[[2]int{from, to}]; ok {
		return graph.ErrEdgeAlreadyExists
	}
	if s.place == nil {
		s.place = map[[2]int]int{}
	}
	s.place[[2]int{from, to}] = len(s.edges)
	s.edges = append(s.edges, e)
	s.out[from] = append(s.out[from], to)
	return nil
}

func (s *orderedStore) UpdateEdge(from, to int, e graph.Edge[int]) error {
	i, ok := s.place[[2]int{from, to}]
	if !ok {
		return graph.ErrEdgeNotFound
	}
	s.edges[i] = e
	return nil
}

func (s *orderedStore) RemoveEdge(int, int) error { return graph.ErrEdgeNotFound }

func (s *orderedStore) Edge(from, to int) (graph.Edge[int], error) {
	i, ok := s.place[[2]int{from, to}]
	if !ok {
		return graph.Edge[int]{}, graph.ErrEdgeNotFound
	}
	return s.edges[i], nil
}

func (s *orderedStore) ListEdges() ([]graph.Edge[int], error) { return s.edges, nil }

// CreatesCycle is the library's optional fast path for cycle prevention.
func (s *orderedStore) CreatesCycle(from, to int) (bool, error) {
	if !s.has(from) || !s.has(to) {
		return false, graph.ErrVertexNotFound
	}
	return from == to || shortestPath(to, from, len(s.out), s.succ) != nil, nil
}
