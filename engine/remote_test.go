package engine

import (
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/plan"
)

// TestWanted says whose content a run needs: that of what runs reads. The steps
// are a, b(a) and c(a), which are cached, d(b), which runs, and e(c, d) and f(c),
// which are deferred.
func TestWanted(t *testing.T) {
	recs := []*cache.Record{{Address: "a"}, {Address: "b"}, {Address: "c"}}
	pl := &planned{}
	add := func(action plan.Action, d *decision, after ...int) {
		n := &node{at: len(pl.nodes), plan: &plan.Step{Action: action}, decision: d}
		for _, a := range after {
			n.after = append(n.after, pl.nodes[a])
		}
		pl.nodes = append(pl.nodes, n)
	}
	add(plan.Cached, &decision{record: recs[0]})
	add(plan.Cached, &decision{record: recs[1]}, 0)
	add(plan.Cached, &decision{record: recs[2]}, 0)
	add(plan.Run, &decision{}, 1)
	add(plan.Deferred, nil, 2, 3)
	add(plan.Deferred, nil, 2)
	got := pl.wanted()
	if len(got) != 2 || got[0] != recs[1] || got[1] != recs[2] {
		t.Errorf("wanted %v, want b and c, each once", got)
	}
}
