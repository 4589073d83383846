package dag

// Ancestors marks the given nodes and all that come before them.
func (g *Graph) Ancestors(of ...int) []bool { return g.reach(of, g.Pred) }

// Descendants marks the given nodes and all that come after them.
func (g *Graph) Descendants(of ...int) []bool { return g.reach(of, g.Succ) }

func (g *Graph) reach(stack []int, next func(int) []int) []bool {
	marked := make([]bool, g.n)
	stack = append([]int(nil), stack...)
	for _, i := range stack {
		marked[i] = true
	}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, s := range next(i) {
			if !marked[s] {
				marked[s] = true
				stack = append(stack, s)
			}
		}
	}
	return marked
}

// Induced returns the graph of the marked nodes and the edges between them,
// and the number each of its nodes has in g, ascending.
func (g *Graph) Induced(keep []bool) (*Graph, []int) {
	renamed := make([]int, g.n)
	var nodes []int
	for i := range g.n {
		if renamed[i] = -1; keep[i] {
			renamed[i] = len(nodes)
			nodes = append(nodes, i)
		}
	}
	b := NewBuilder(len(nodes), 0)
	for _, i := range nodes {
		for _, s := range g.Succ(i) {
			if keep[s] {
				b.AddEdge(renamed[i], renamed[s])
			}
		}
	}
	return b.acyclic(), nodes
}

// acyclic builds a graph that is part of an acyclic one.
func (b *Builder) acyclic() *Graph {
	g, err := b.Build()
	if err != nil {
		panic("dag: part of an acyclic graph has a " + err.Error())
	}
	return g
}
