package ui

import (
	"context"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/steps/check"
)

// checkKind is the kind of the steps that apply rules to attempts.
const checkKind = "check"

// findings holds the findings of an attempt's rule checks.
type findings struct {
	// Step is the step that checked, Missing why there is nothing to show.
	Step, Link, Missing string
	Rules               int
	Rows                []call
	Unread              []string
}

// findingsOf reads the findings of the step that checks an attempt.
func findingsOf(ctx context.Context, a *shownAttempt) (f findings) {
	if a.checker == "" {
		f.Missing = "No rule checks were run on this attempt. A step of kind check does."
		return f
	}
	f.Step, f.Link = a.checker, stepAddress(a.run.ID, a.checker, "")
	if a.checked == nil || a.checked.Outputs["findings"] == "" {
		f.Missing = "The rule checks have not finished."
		return f
	}
	r, err := outputs.Read[check.Report](ctx, a.store, a.checked.Outputs["findings"])
	if err != nil {
		f.Missing = lost("report of the rule checks", err)
		return f
	}
	f.Rules, f.Unread = len(r.Rules), r.Unread
	for _, e := range r.Findings {
		where := e.Where()
		if e.Place != "" {
			where += " (" + e.Place + ")"
		}
		c := call{Check: "rule", What: oneLine(e.Rule, 100), Verdict: oneLine(string(e.Severity), 20), Where: oneLine(where, 300), Excerpt: oneLine(e.Excerpt, 300), Note: oneLine(e.Explanation, 500)}
		if e.Severity == evidence.Warning {
			c.Class = "bad"
		}
		f.Rows = append(f.Rows, c)
	}
	return f
}
