package dag

// Longest returns, for every node, the largest sum of weights along a path that
// starts there, including its own weight. Weights must not be negative.
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
