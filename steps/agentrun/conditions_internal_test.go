package agentrun

import (
	"testing"

	"github.com/mleflow/mleflow/engine/step"
)

// TestBudgetText writes equal budgets alike, however people write them.
func TestBudgetText(t *testing.T) {
	for want, budgets := range map[string][]step.ModelBudget{
		"10usd":                       {{Cost: "10"}, {Cost: "10 USD"}, {Cost: "10.00"}},
		"0.5usd/7tokens/1000requests": {{Cost: "0.50 USD", Tokens: 7, Requests: 1000}},
		"unlimited":                   {{}},
	} {
		for _, b := range budgets {
			if got := budgetText(b, step.ModelBudget{}); got != want {
				t.Errorf("budget %+v is written %q, want %q", b, got, want)
			}
		}
	}
	if got, want := budgetText(step.ModelBudget{Requests: 2}, step.ModelBudget{Cost: "1 USD"}), "2requests/run:1usd"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
