package agentrun_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
)

// TestModelTools: what the provider charges for its own searches is in the cost of
// the attempt, and shown; a request that sets them no limit is refused under a
// budget.
func TestModelTools(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"type":"message","content":[{"type":"text","text":"found"}],"usage":{"input_tokens":100,"output_tokens":50,"server_tool_use":{"web_search_requests":3}}}`)
	}))
	t.Cleanup(server.Close)
	ask := func(tool string) string {
		return `curl -s -H "Content-Type: application/json" -H "x-api-key: $ANTHROPIC_API_KEY" -d '{"model":"m-1","max_tokens":90,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search_20250305","name":"web_search"` + tool + `}]}' $ANTHROPIC_BASE_URL/v1/messages; echo
`
	}
	main := block("main", "anthropic", server.URL, map[string]cty.Value{"tools": cty.ListVal([]cty.Value{cty.StringVal("web_search")})}).AsValueMap()
	budget := main["budget"].AsValueMap()
	budget["cost"] = cty.StringVal("1 USD")
	main["budget"] = cty.ObjectVal(budget)
	price := main["prices"].AsValueMap()["m-*"].AsValueMap()
	price["tool_calls"] = cty.MapVal(map[string]cty.Value{"web_search": cty.StringVal("10 USD")})
	price["max_input"] = cty.NumberIntVal(1000)
	main["prices"] = cty.MapVal(map[string]cty.Value{"m-*": cty.ObjectVal(price)})

	b := newBench(t)
	r := run(t, b, values(b, t, withModels(ask("")+ask(`,"max_uses":5`)+ask(`,"max_uses":1000`)+"echo id > $SUBMISSION_DIR/submission.csv", cty.ObjectVal(main))))
	use := r.Stats.Models["main"]
	// 100 and 50 tokens at 10 and 20 USD per million, and three searches at 10 USD a thousand.
	if diff := cmp.Diff(map[string]int64{"web_search": 3}, use.ToolCalls); diff != "" || use.CostUSD != "0.032" || use.ToolCostUSD != "0.03" || use.Requests != 1 || use.Refused != 2 || use.UnpricedCalls != 0 {
		t.Errorf("used %+v\n%s\n%s", use, diff, r.Logs["output.log"])
	}
	for _, want := range []string{"found", "does not limit how often", "not enough left of money"} {
		if !strings.Contains(r.Logs["output.log"], want) {
			t.Errorf("the agent's output lacks %q:\n%s", want, r.Logs["output.log"])
		}
	}
	if got := use.ToolCharges(); got != ", of which 0.03 for calls of tools (3 web_search)" {
		t.Error(got)
	}
}
