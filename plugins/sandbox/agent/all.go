package agent

import "github.com/mleflow/mleflow/cache/leaf/named"

// all are the built-in agents.
func all() *named.Set[Agent] {
	return named.New("built-in agent", func(a Agent) string { return a.Name }, baseline, sample)
}
