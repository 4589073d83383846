package agent

// All returns the built-in agents, sorted by name.
func All() []Agent {
	return []Agent{baseline, dummy}
}
