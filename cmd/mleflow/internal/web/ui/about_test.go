package ui

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
)

// TestLimitsAreDeclared shows the fields of a key as limits that the kind declares as such,
// whatever else their names look like.
func TestLimitsAreDeclared(t *testing.T) {
	a := &shownAttempt{shownStep: shownStep{past: &history.Past{}, run: &history.Summary{}, record: &cache.Record{}}, result: &results.Attempt{}}
	var limits, others []page.Fact
	for _, label := range []string{"timeout", "resources.cpus", "network.allow", "disk_limit", "snapshot_every", "runtime"} {
		limits = append(limits, page.Fact{Name: label, Value: "1"})
	}
	for _, label := range []string{"agent.name", `agent.files["limits.py"]`, `agent.env["TIMEOUT"]`, "seed", "condition network"} {
		others = append(others, page.Fact{Name: label, Value: "1"})
	}
	for _, f := range append(others[:2:2], append(limits, others[2:]...)...) {
		a.record.Fields = append(a.record.Fields, digest.Field{Label: f.Name, Value: f.Value})
	}
	d := aboutAttempt(t.Context(), a, nil)
	if diff := cmp.Diff([][]page.Fact{limits, others}, [][]page.Fact{d.Limits, d.Fields}); diff != "" {
		t.Error(diff)
	}
}
