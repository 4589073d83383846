package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

func planStep(kind, name, key string, action plan.Action, reasons ...string) plan.Step {
	address := addr.Single(addr.Step{Kind: kind, Name: name})
	if key != "" {
		address = addr.Keyed(address.Step, key)
	}
	s := plan.Step{Address: address, Name: address.String(), Kind: kind, Action: action}
	for _, r := range reasons {
		s.Reasons = append(s.Reasons, plan.Reason{Text: r})
	}
	return s
}

func smallPlan() *plan.Plan {
	return &plan.Plan{Pipeline: "demo.hcl", Steps: []plan.Step{
		planStep("download", "raw", "digits", plan.Run, "first run"),
		planStep("download", "raw", "wine", plan.Cached),
		planStep("prepare", "data", "digits", plan.Deferred, `waits for step.download.raw["digits"]`),
		planStep("prepare", "data", "wine", plan.Run, "argument version changed from v1 to v2", "kind version changed from 1 to 2"),
		planStep("checksum", "data", "", plan.Cached),
	}}
}

// modelPlan is a plan with attempts that use models.
func modelPlan() *plan.Plan {
	p := &plan.Plan{Pipeline: "models.hcl"}
	main := step.Spending{Model: "main", Provider: "openai", Models: []string{"gpt-5.5", "text-embedding-*"}, Cost: 20e9, Requests: 2000}
	search := step.Spending{Model: "search", Provider: "anthropic", Models: []string{"claude-sonnet-4-5"}, Tools: []string{"web_search", "premium"}, Uncounted: []string{"premium"}, Cost: 5e9, RunCost: 12_500_000_000, OneRequest: 13e9}
	again := step.Spending{Model: "again", Provider: "gemini", Models: []string{"gemini-2.5-pro"}, Replayed: true}
	for i := range 3 {
		s := planStep("agent-run", "solve", fmt.Sprint(i), plan.Run, "first run")
		s.Spending = []step.Spending{main, search, again}
		p.Steps = append(p.Steps, s)
	}
	done := planStep("agent-run", "solve", "3", plan.Cached)
	done.Spending = []step.Spending{main}
	p.Steps = append(p.Steps, done)
	return p
}

// unlimitedPlan has a model without a budget of cost.
func unlimitedPlan() *plan.Plan {
	p := modelPlan()
	p.Steps = p.Steps[:1]
	p.Steps[0].Spending = []step.Spending{{Model: "local", Provider: "openai", Models: []string{"*"}}, p.Steps[0].Spending[0]}
	return p
}

func largePlan() *plan.Plan {
	p := &plan.Plan{Pipeline: "all.hcl"}
	for i := range 75 {
		p.Steps = append(p.Steps, planStep("download", "raw", fmt.Sprintf("c%02d", i), plan.Cached))
	}
	for i := range 1200 {
		reason := "first run"
		if i%100 == 7 {
			reason = "evicted on 2026-02-01 by quota"
		}
		p.Steps = append(p.Steps, planStep("agent-run", "solve", fmt.Sprintf("c%02d/%d", i/16, i%16), plan.Run, reason))
	}
	for i := range 20 {
		key := fmt.Sprintf("c%02d", i)
		p.Steps = append(p.Steps, planStep("grade", "score", key, plan.Deferred, fmt.Sprintf(`waits for step.agent-run.solve["%s/0"]`, key)))
	}
	return p
}

func TestPlan(t *testing.T) {
	tests := []struct {
		file    string
		plan    *plan.Plan
		verbose bool
	}{
		{"plan_small.txt", smallPlan(), false},
		{"plan_small_verbose.txt", smallPlan(), true},
		{"plan_models.txt", modelPlan(), false},
		{"plan_models_unlimited.txt", unlimitedPlan(), false},
		{"plan_large.txt", largePlan(), false},
		{"plan_nothing.txt", &plan.Plan{Pipeline: "demo.hcl", Steps: []plan.Step{planStep("checksum", "data", "", plan.Cached)}}, false},
		{"plan_empty.txt", &plan.Plan{Pipeline: "demo.hcl"}, false},
	}
	for _, tt := range tests {
		var out strings.Builder
		Plan(&out, tt.plan, Style{}, tt.verbose)
		golden(t, tt.file, out.String())
	}
}
