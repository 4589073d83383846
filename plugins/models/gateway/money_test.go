package gateway

import (
	"testing"
	"testing/synctest"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// TestIncredibleUsage: a usage of nothing, or of less, is not believed where
// there is a text. What is charged instead is marked.
func TestIncredibleUsage(t *testing.T) {
	input := int64(len(asking("chat", false).body)) + 1000 // with what OpenAI may add
	for _, c := range []struct {
		name, usage   string
		input, output int64
		believed      bool
	}{
		{"believed", `"prompt_tokens":40,"completion_tokens":5`, 40, 5, true},
		{"zero", `"prompt_tokens":0,"completion_tokens":0,"total_tokens":0`, input, 11, false},
		{"negative", `"prompt_tokens":-40,"completion_tokens":-5,"total_tokens":-45`, input, 11, false},
		{"no output", `"prompt_tokens":40,"completion_tokens":0`, 40, 11, false},
		{"no input", `"prompt_tokens":0,"completion_tokens":5`, input, 11, false},
		{"a fraction", `"prompt_tokens":0.5,"completion_tokens":0.5`, 1, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := asking("chat", false)
				b := startTold(t, q, Limits{Cost: Dollar}, Retry{}, told("application/json",
					`{"choices":[{"message":{"content":"Hello, you."},"finish_reason":"stop"}],"usage":{`+c.usage+`}}`))
				q.send(t, b.client, "http://gateway/main", virtualKey, "identity")
				e := b.events()[0]
				if e.Reported != c.believed || e.Estimated == c.believed || e.Usage == nil || e.Usage.Input != c.input || e.Usage.Output != c.output {
					t.Errorf("recorded %+v, %+v", e, e.Usage)
				}
				if s := b.Summary()[0]; (s.Unreported == 1) == c.believed || (s.Estimated > 0) == c.believed || s.Cost != Dollars(e.Cost) {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// TestServiceTier: a response is priced by the service tier that it names, not by
// the one that was asked for.
func TestServiceTier(t *testing.T) {
	price := func(name string) Dollars {
		p, _ := PriceOf(&Model{Provider: "openai"}, "gpt-5.5")
		return p.Cost(dialect.Usage{Input: 40, Output: 5, Tier: name})
	}
	if price("flex") >= price("") || price("priority") <= price("") || price("unknown") != price("") {
		t.Fatalf("flex %s, ordinary %s, priority %s, unknown %s", price("flex"), price(""), price("priority"), price("unknown"))
	}
	for _, tier := range []string{"flex", "priority", "default"} {
		synctest.Test(t, func(t *testing.T) {
			q := asking("chat", false)
			b := startTold(t, q, Limits{Cost: Dollar}, Retry{}, told("application/json",
				`{"model":"gpt-5.5-2026-04-23","service_tier":"`+tier+`","choices":[{"message":{"content":"Hello, you."},"finish_reason":"stop"}],"usage":{"prompt_tokens":40,"completion_tokens":5}}`))
			q.send(t, b.client, "http://gateway/main", virtualKey, "identity")
			e := b.events()[0]
			if Dollars(e.Cost) != price(tier) || e.ListCost == nil || *e.ListCost != e.Cost || e.Answered != "gpt-5.5-2026-04-23" {
				t.Errorf("%s: recorded %+v", tier, e)
			}
		})
	}
}

// TestListed finds the models of the list behind other names.
func TestListed(t *testing.T) {
	for name, want := range map[string]string{
		"gpt-5.5": "gpt-5.5", "gpt-5.5-2031-01-02": "gpt-5.5", "openai/gpt-5.5": "gpt-5.5", "openrouter/openai/GPT-5.5:free": "gpt-5.5", "gpt-5.5-mine": "gpt-5.5",
		"gpt-4o-mini-2024-07-18": "gpt-4o-mini-2024-07-18", "claude-sonnet-4-5@20250929": "claude-sonnet-4-5", "gemini-2.5-pro": "gemini-2.5-pro",
		"qwen3": "", "my-model": "", "": "", "gpt": "", "/": "",
	} {
		if _, got := Listed("openai", name); got != want {
			t.Errorf("%q is listed as %q, want %q", name, got, want)
		}
	}
}

// TestListCost: one's own prices decide what a budget is charged, and the list
// what stands beside it, also for a model behind another name.
func TestListCost(t *testing.T) {
	for _, c := range []struct {
		model, answered string
		known           bool
	}{
		{"gpt-5.5", "gpt-5.5", true},
		{"cheap", "gpt-5.5", true},
		{"qwen3", "qwen3", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := startTold(t, question{provider: "openai", model: "*"}, Limits{Cost: Dollar}, Retry{}, told("application/json",
				`{"model":"`+c.answered+`","choices":[{"message":{"content":"Hello, you."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000000,"completion_tokens":1000000}}`))
			b.blocks["main"].Prices = map[string]Price{"*": {MaxOutput: 1000}}
			q := asking("chat", false)
			q.body = `{"model":"` + c.model + `","messages":[{"role":"user","content":"Hi"}]}`
			q.send(t, b.client, "http://gateway/main", virtualKey, "identity")
			e, s := b.events()[0], b.Summary()[0]
			// 10 dollars for the million of a long input, 45 for that of its output.
			if e.Cost != 0 || (e.ListCost != nil) != c.known || (s.ListCost == 55*Dollar) != c.known || (s.Unlisted == 1) == c.known {
				t.Errorf("%s: recorded %+v, %+v", c.model, e, s)
			}
		})
	}
}
