package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// refresh evaluates again, in order, what depends on values that have become
// known.
func (ev *evaluator) refresh() {
	if len(ev.stale) == 0 {
		return
	}
	for _, n := range ev.pipeline.order {
		name := n.String()
		switch {
		case n.step != nil:
			if ev.stale[name] {
				ev.blocks[n.step].value = cty.NilVal
			}
		case ev.dependsOnStale(n):
			// Diagnostics were reported by Expand; a value that now fails
			// stays unknown and fails where it is used.
			_ = ev.bind(n)
			ev.stale[name] = true
		}
	}
	clear(ev.stale)
}

func (ev *evaluator) dependsOnStale(n node) bool {
	for _, e := range n.expressions() {
		for _, t := range e.Variables() {
			if ev.isStale(t) {
				return true
			}
		}
	}
	return false
}

func (ev *evaluator) isStale(t hcl.Traversal) bool {
	switch t.RootName() {
	case "step":
		s, _ := ev.pipeline.stepOf(t)
		return s != nil && ev.stale[s.Addr.String()]
	case "local":
		return ev.anyStale(memberNodes(t, "local.", ev.locals))
	case "model":
		return ev.anyStale(memberNodes(t, "model.", ev.models))
	case "agent":
		return ev.anyStale(memberNodes(t, "agent.", ev.agents))
	}
	return false
}

func (ev *evaluator) anyStale(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return ev.stale[name] })
}
