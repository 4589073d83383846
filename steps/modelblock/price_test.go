package modelblock

import (
	"testing"

	"github.com/mleflow/mleflow/engine/step"
)

// TestOneRequest: plan tells of a budget that refuses each request without a
// limit of its output.
func TestOneRequest(t *testing.T) {
	own := map[string]step.ModelPrice{"own-*": {Input: "1 USD", Output: "30 USD", MaxOutput: 100_000}}
	for _, c := range []struct {
		models      []string
		budget, run string
		want        int64
	}{
		{[]string{"own-a"}, "1 USD", "", 3e9},
		{[]string{"own-a"}, "3 USD", "", 0},
		{[]string{"own-a"}, "5 USD", "2 USD", 3e9},
		{[]string{"own-a"}, "", "", 0},
		{[]string{"own-a", "text-embedding-3-small"}, "1 USD", "", 3e9},
		{[]string{"text-embedding-3-small"}, "0.001 USD", "", 0},
		{[]string{"own-*"}, "1 USD", "", 0},
	} {
		m := step.Model{Name: "main", Key: &step.SecretRef{}, Provider: "openai", BaseURL: "http://localhost", Models: c.models, Prices: own}
		m.Budget.Cost, m.RunBudget.Cost = c.budget, c.run
		if got := Spending(m).OneRequest; got != c.want {
			t.Errorf("%v, %q, %q: %d, want %d", c.models, c.budget, c.run, got, c.want)
		}
	}
}
