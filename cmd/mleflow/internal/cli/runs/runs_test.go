package runs

import (
	"strings"
	"testing"
	"time"

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

// TestRequests reads what is asked; what is wrong with it says what is right.
func TestRequests(t *testing.T) {
	for arg, want := range map[string]string{
		"parallelism=4": "", "gpus=0": "", "budget=100USD": "", "budget=5": "", "deadline=2126-12-01T08:00": "",
		"parallelism=0": "an integer of at least 1", "parallelism=": "at least 1", "parallelism=1.5": "at least 1", "gpus=-1": "an integer of at least 0",
		"gpus=two": "at least 0", "budget=0": "above 0, such as 100USD", "budget=+5USD": "the whole amount", "budget=5EUR": "such as 100USD",
		"deadline=5h": "such as 2026-12-01T08:00", "gpu=1": "sets nothing; write parallelism=4, gpus=2", "": "sets nothing",
	} {
		if _, err := Setting(arg); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", arg, err, want)
		}
	}
	for _, tt := range []struct {
		by           time.Duration
		budget, want string
	}{
		{by: time.Hour}, {budget: "+5USD"}, {budget: "5"},
		{want: "say by how much"}, {by: -2 * time.Hour, want: "would take time away"}, {by: -time.Hour, budget: "+5USD", want: "would take time away"},
		{by: time.Hour, budget: "+5USD", want: "in a second command"}, {by: time.Hour, budget: "0USD", want: "is not an amount such as +5USD"},
	} {
		if _, err := Extension(tt.by, tt.budget); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v %q: %v, want %q", tt.by, tt.budget, err, tt.want)
		}
	}
}
