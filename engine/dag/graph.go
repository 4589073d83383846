package dag

import "fmt"

// builder collects the edges of a graph with a fixed number of nodes.
type builder struct {
	n        int
	from, to []int
}

// newBuilder returns a builder for n nodes. edges is a hint.
func newBuilder(n, edges int) *builder {
	return &builder{n: n, from: make([]int, 0, edges), to: make([]int, 0, edges)}
}

// AddEdge adds an edge from a node to one that comes after it. A repeated edge
// counts once. A number that is not a node is a programming error and panics.
func (b *builder) AddEdge(from, to int) {
	if uint(from) >= uint(b.n) || uint(to) >= uint(b.n) {
		panic(fmt.Sprintf("dag: edge %d to %d in a graph of %d nodes", from, to, b.n))
	}
	b.from = append(b.from, from)
	b.to = append(b.to, to)
}

// Build returns the graph, or a *CycleError[int].
func (b *builder) Build() (*Graph, error) {
	g := &Graph{n: b.n}
	g.succ = group(b.n, b.from, b.to)
	g.pred = g.succ.reversed()
	g.order = g.sort()
	if len(g.order) < g.n {
		return nil, &CycleError[int]{Path: g.cycle()}
	}
	return g, nil
}

// FromAfter returns the graph in which node i comes after every node of
// after[i], or a *CycleError[int].
func FromAfter(after [][]int) (*Graph, error) {
	edges := 0
	for _, a := range after {
		edges += len(a)
	}
	b := newBuilder(len(after), edges)
	for to, froms := range after {
		for _, from := range froms {
			b.AddEdge(from, to)
		}
	}
	return b.Build()
}

// Graph is a directed acyclic graph. It never changes.
type Graph struct {
	n          int
	succ, pred lists
	order      []int
}

// Edges returns the number of distinct edges.
func (g *Graph) Edges() int { return len(g.succ.items) }

// Succ returns the nodes with an edge from i, in the order in which the edges
// were added. The caller must not change them.
func (g *Graph) Succ(i int) []int { return g.succ.at(i) }

// Pred returns the nodes with an edge to i, in ascending order. The caller must
// not change them.
func (g *Graph) Pred(i int) []int { return g.pred.at(i) }

// lists holds a list of nodes for every node in one slice: list i is
// items[start[i]:start[i+1]].
type lists struct {
	start []int
	items []int
}

func (l *lists) at(i int) []int { return l.items[l.start[i]:l.start[i+1]:l.start[i+1]] }

// group appends vals[j] to the list of keys[j]. It keeps the order and drops
// duplicates within a list.
func group(n int, keys, vals []int) lists {
	l := lists{start: make([]int, n+1), items: make([]int, len(vals))}
	for _, k := range keys {
		l.start[k+1]++
	}
	for i := range n {
		l.start[i+1] += l.start[i]
	}
	next := make([]int, n)
	copy(next, l.start)
	for j, k := range keys {
		l.items[next[k]] = vals[j]
		next[k]++
	}
	l.dedupe()
	return l
}

func (l *lists) dedupe() {
	n := len(l.start) - 1
	seen := make([]int, n) // seen[v] == i+1: list i contains v
	out := 0
	for i := range n {
		list := l.items[l.start[i]:l.start[i+1]]
		l.start[i] = out
		for _, v := range list {
			if seen[v] != i+1 {
				seen[v] = i + 1
				l.items[out] = v
				out++
			}
		}
	}
	l.start[n] = out
	l.items = l.items[:out]
}

// reversed returns the lists of the opposite edges in ascending order.
func (l *lists) reversed() lists {
	n := len(l.start) - 1
	r := lists{start: make([]int, n+1), items: make([]int, len(l.items))}
	for _, v := range l.items {
		r.start[v+1]++
	}
	for i := range n {
		r.start[i+1] += r.start[i]
	}
	next := make([]int, n)
	copy(next, r.start)
	for i := range n {
		for _, v := range l.at(i) {
			r.items[next[v]] = i
			next[v]++
		}
	}
	return r
}
