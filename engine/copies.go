package engine

import (
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/plan"
)

// copies adds up the copies of a plan's uncached steps. A shared copy counts
// once, or not at all if it already exists. nil means that there are none.
func (e *Engine) copies(pl *planned) *plan.Copies {
	var sum plan.Copies
	shared, unknown := map[digest.ContentID]bool{}, map[string]bool{}
	for _, n := range pl.nodes {
		if n.plan.Action == plan.Cached {
			continue
		}
		for _, c := range n.copies {
			files, bytes := c.Ref.Files, c.Ref.Size
			switch {
			case c.Ref.IsZero():
				if !c.Shared || !unknown[c.Name] {
					sum.Unknown++
					sum.Why = c.Why
				}
				unknown[c.Name] = true
			case c.Shared && shared[c.Ref.ID]:
				files, bytes = 0, 0
			case c.Shared:
				shared[c.Ref.ID] = true
				files, bytes = e.opts.Cache.ShareCost(c.Ref)
			}
			if files > 0 {
				sum.Copies++
				sum.Why = c.Why
			}
			sum.Files += files
			sum.Bytes += bytes
		}
	}
	if sum == (plan.Copies{}) {
		return nil
	}
	return &sum
}
