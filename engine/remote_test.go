package engine

import (
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/plan"
)

// TestWanted says whose content a run needs: that of what runs reads.
func TestWanted(t *testing.T) {
	recs := []*cache.Record{{Address: "a"}, {Address: "b"}, {Address: "c"}}
	pl := &planned{}
	pl.Steps = wantedSteps()
	pl.decisions = []*decision{{record: recs[0]}, {record: recs[1]}, {record: recs[2]}, {}, nil, nil}
	got := pl.wanted()
	if len(got) != 2 || got[0] != recs[1] || got[1] != recs[2] {
		t.Errorf("wanted %v, want b and c, each once", got)
	}
}

// wantedSteps are a, b(a) and c(a), which are cached, d(b), which runs, and
// e(c, d) and f(c), which are deferred.
func wantedSteps() []plan.Step {
	return []plan.Step{
		{Action: plan.Cached}, {Action: plan.Cached, After: []int{0}}, {Action: plan.Cached, After: []int{0}},
		{Action: plan.Run, After: []int{1}}, {Action: plan.Deferred, After: []int{2, 3}}, {Action: plan.Deferred, After: []int{2}},
	}
}
