package agent

// all returns the built-in agents, sorted by name.
func all() []Agent {
	return []Agent{baseline, dummy}
}
