package site

import (
	"testing"

	"github.com/mleflow/mleflow/competitions/results"
)

// TestLimits says where nothing keeps an attempt to its processors, and has no memory of 0.
func TestLimits(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	r := &Row{Attempt: &results.Attempt{TimeLimitSeconds: number(60), CPULimit: number(1), MemoryLimitBytes: number(0), Network: "open"}}
	for isolation, want := range map[string]string{"sandbox": "1m00s · 1 CPU · network: open", "none": "1m00s · 1 CPU not enforced · network: open"} {
		r.Report.Conditions = []string{"isolation=" + isolation}
		if got := r.limits(); got != want {
			t.Errorf("isolation %s: %q, want %q", isolation, got, want)
		}
	}
}
