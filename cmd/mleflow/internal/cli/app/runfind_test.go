package app

import (
	"testing"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// TestAttemptsOf says how attempts were isolated, and nothing of those that never ran.
func TestAttemptsOf(t *testing.T) {
	sum := &history.Summary{}
	for _, status := range []event.Status{event.Ran, event.Cached, event.Cancelled, event.Unneeded, ""} {
		var s history.StepSummary
		if s.Kind, s.Status = conditions.AttemptKind, status; status == event.Ran || status == event.Cached {
			s.Conditions = []string{"isolation=sandbox"}
		}
		sum.Steps = append(sum.Steps, s)
	}
	if got := AttemptsOf(sum).Shown(); got != "sandbox" {
		t.Errorf("an interrupted run is %q", got)
	}
}
