package results

import (
	"testing"

	"github.com/mleflow/mleflow/competitions/outcome"
)

// TestReasonOfEnds explains ends by what the outputs of an attempt say.
func TestReasonOfEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end, stats, log, ended, reason string
	}{
		"finished":       {`"finished"`, `{"wall_seconds": 3}`, "", "not graded", ""},
		"a crash":        {`"agent_failed"`, `{"exit_code": 7}`, "KeyError: 'x'", "agent failed", "exit status 7: KeyError: 'x'"},
		"a signal":       {`"agent_failed"`, `{}`, "Killed", "agent failed", "Killed"},
		"its time":       {`"timed_out"`, `{"wall_seconds": 90.4}`, "", "timed out", "stopped after 1m30s"},
		"its memory":     {`"out_of_memory"`, `{"peak_memory_bytes": 536870912}`, "", "out of memory", "killed at its memory limit, used 512 MiB"},
		"its budget":     {`"out_of_budget"`, `{"models": {"m": {"exhausted_by": ["cost", "run_cost"]}}}`, "", "out of budget", "a budget of its models was exhausted (m: cost, the run's cost)"},
		"its data":       {`"data_changed"`, ``, "", "data changed", "the agent changed its data, which are read-only"},
		"nothing there":  {`"no_submission"`, ``, "", "no submission", "the agent ended with exit status 0 and left no submission"},
		"another form":   {`7`, `[]`, "", "not graded", ""},
		"an unknown end": {`"eaten_by_bear"`, ``, "", "eaten by bear", ""},
	} {
		a := &Attempt{Phase: Done, Log: tt.log}
		_, err := a.MadeBy(tt.end, tt.stats)
		if (err != nil) != (name == "another form") {
			t.Errorf("%s: %v", name, err)
		}
		if ended, _ := a.Ended(); ended != tt.ended || a.Reason() != tt.reason {
			t.Errorf("%s: %q, %q", name, ended, a.Reason())
		}
	}
	seconds := 18.2
	a := &Attempt{Phase: Interrupted, Made: Made{WallSeconds: &seconds}}
	if ended, mood := a.Ended(); ended != "interrupted" || mood != Bad || a.Reason() != "its run ended 18s after it began" {
		t.Errorf("interrupted: %q, %q", ended, a.Reason())
	}
}

// TestGradedBy reads the outputs of a grade, of which one that is not final does not count.
func TestGradedBy(t *testing.T) {
	for name, tt := range map[string]struct {
		outputs    map[string]string
		conditions []string
		no         string
		valid      bool
		medal      string
	}{
		"gold":      {map[string]string{"outcome": `"scored"`, "score": "0.5", "medal": `"gold"`}, nil, "", true, "gold"},
		"invalid":   {map[string]string{"outcome": `"invalid"`, "score": "null", "reason": `"no column"`}, nil, "invalid submission", false, ""},
		"missing":   {map[string]string{"outcome": `"missing"`}, nil, "no submission", false, ""},
		"not final": {map[string]string{"outcome": `"scored"`, "score": "0.5"}, []string{"provisional=provider_failed"}, "provider failed", true, ""},
	} {
		var a Attempt
		a.GradedBy(tt.outputs, tt.conditions)
		if a.NoScore() != tt.no || a.Report.ValidSubmission != tt.valid || Medal(a.Report) != tt.medal || a.Report.SubmissionExists == (name == "missing") {
			t.Errorf("%s: %q, %+v", name, a.NoScore(), a.Report)
		}
	}
	if outcome.Words("missing") != outcome.NoSubmission.Text() {
		t.Error("a submission that is missing has two names")
	}
}
