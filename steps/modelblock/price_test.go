package modelblock

import (
	"slices"
	"strings"
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

// TestOwnPrices names the prices that are not those of the list, where a budget of cost
// counts with them.
func TestOwnPrices(t *testing.T) {
	free := step.ModelPrice{Input: "0 USD", Output: "0 USD"}
	listed := step.ModelPrice{Input: "0.15 USD", Output: "0.6 USD", CacheRead: "0.075 USD"}
	uncached := listed
	uncached.CacheRead = "0 USD"
	for _, c := range []struct {
		name   string
		models []string
		prices map[string]step.ModelPrice
		cost   string
		want   []string
	}{
		{"of the list", []string{"gpt-4o-mini"}, nil, "1 USD", nil},
		{"free", []string{"gpt-4o-mini"}, map[string]step.ModelPrice{"gpt-4o-mini": free}, "1 USD", []string{"gpt-4o-mini@0/0usd"}},
		{"free by a pattern", []string{"gpt-4o-mini"}, map[string]step.ModelPrice{"*": free}, "1 USD", []string{"gpt-4o-mini@0/0usd"}},
		{"as in the list", []string{"gpt-4o-mini"}, map[string]step.ModelPrice{"gpt-4o-mini": listed}, "1 USD", nil},
		{"a cache for nothing", []string{"gpt-4o-mini"}, map[string]step.ModelPrice{"gpt-4o-mini": uncached}, "1 USD", []string{"gpt-4o-mini@0.15/0.6usd~43db7464"}},
		{"without the cost of long inputs", []string{"gpt-5.5"}, map[string]step.ModelPrice{"gpt-5.5": {Input: "5 USD", Output: "30 USD", CacheRead: "0.5 USD"}}, "1 USD", []string{"gpt-5.5@5/30usd~bc9be413"}},
		{"another name", []string{"openai/gpt-5.5-2031-01-02"}, map[string]step.ModelPrice{"*": free}, "1 USD", []string{"gpt-5.5@0/0usd"}},
		{"another provider's", []string{"claude-sonnet-4-5"}, map[string]step.ModelPrice{"*": free}, "1 USD", []string{"claude-sonnet-4-5@0/0usd"}},
		{"a local server", []string{"qwen3"}, map[string]step.ModelPrice{"qwen3": free}, "1 USD", []string{"unlisted@0/0usd"}},
		{"a pattern", []string{"gpt-*"}, map[string]step.ModelPrice{"gpt-4o-mini": listed, "gpt-5*": free, "other": free}, "1 USD", []string{"any@0/0usd"}},
		{"without a budget of cost", []string{"qwen3"}, map[string]step.ModelPrice{"qwen3": free}, "", nil},
	} {
		m := step.Model{Name: "main", Key: &step.SecretRef{}, Provider: "openai", BaseURL: "http://localhost", Models: c.models, Prices: c.prices}
		m.Budget.Cost = c.cost
		if got := OwnPrices(m); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		m.Budget.Cost, m.RunBudget.Cost = "", c.cost
		if got := OwnPrices(m); !slices.Equal(got, c.want) {
			t.Errorf("%s, of the run: %q, want %q", c.name, got, c.want)
		}
		for _, value := range c.want {
			if strings.ContainsAny(value, " ,") {
				t.Errorf("%s: %q is no value of a condition", c.name, value)
			}
		}
	}
}
