package dag

// Longest returns for every node the greatest sum of weights along a path
// that starts there, its own weight included. Weights must not be negative.
func (g *Graph) Longest(weight func(node int) int64) []int64 {
	longest := make([]int64, g.n)
	for k := g.n - 1; k >= 0; k-- {
		i := g.order[k]
		for _, s := range g.Succ(i) {
			longest[i] = max(longest[i], longest[s])
		}
		longest[i] += weight(i)
	}
	return longest
}

// CriticalPath returns the nodes of a heaviest path and its weight; among
// equals the one whose nodes are lowest, first node first. A graph without
// nodes has none.
func (g *Graph) CriticalPath(weight func(node int) int64) ([]int, int64) {
	if g.n == 0 {
		return nil, 0
	}
	longest := g.Longest(weight)
	at := heaviest(longest, identity(g.n), 0)
	path, total := []int{at}, longest[at]
	for len(g.Succ(at)) > 0 {
		next := heaviest(longest, g.Succ(at), -1)
		path, at = append(path, next), next
	}
	return path, total
}

// heaviest returns the node of the greatest weight, the lowest among equals.
func heaviest(weight []int64, nodes []int, best int) int {
	for _, i := range nodes {
		if best < 0 || weight[i] > weight[best] || weight[i] == weight[best] && i < best {
			best = i
		}
	}
	return best
}
