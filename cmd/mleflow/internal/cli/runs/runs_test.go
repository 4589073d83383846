package runs

import (
	"testing"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/history"
)

// TestMedalsOf counts medals that count: not those of rehearsals, forks, and attempts that
// the environment ended.
func TestMedalsOf(t *testing.T) {
	sum := &history.Summary{}
	if got := medalsOf(sum); got != "" {
		t.Errorf("of no grade %q", got)
	}
	grade := func(medal string, set ...string) {
		var s history.StepSummary
		s.Kind, s.Outputs, s.Conditions = conditions.GradeKind, map[string]string{"medal": medal}, set
		sum.Steps = append(sum.Steps, s)
	}
	grade(`"gold"`, "data=rehearsal")
	grade(`"gold"`, "forked=abc")
	grade(`"gold"`, "provisional=provider_failed")
	if got := medalsOf(sum); got != "" {
		t.Errorf("of what does not count %q", got)
	}
	grade(`"none"`)
	grade(`"bronze"`, "isolation=sandbox")
	if got := medalsOf(sum); got != "1 of 2" {
		t.Errorf("%q, want 1 of 2", got)
	}
}
