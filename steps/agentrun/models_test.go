package agentrun_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/gateway/modeltest"
)

const canaryKey = "sk-canary-7d2f19a4c0b35e86"

// block is a model block with some arguments; the others are as if they were
// not written.
func block(name, provider, url string, changes map[string]cty.Value) cty.Value {
	budget := map[string]cty.Value{"cost": cty.StringVal(""), "tokens": cty.Zero, "requests": cty.Zero, "per_minute": cty.Zero, "concurrent": cty.Zero}
	ref := ""
	if changes["replay"] == cty.NilVal {
		ref = "env:CANARY_KEY"
	}
	attrs := map[string]cty.Value{
		"name": cty.StringVal(name), "provider": cty.StringVal(provider), "base_url": cty.StringVal(url),
		"key":    cty.CapsuleVal(step.SecretRefType, &step.SecretRef{Ref: ref}),
		"models": cty.ListVal([]cty.Value{cty.StringVal("m-*")}), "tools": cty.ListValEmpty(cty.String),
		"budget": cty.ObjectVal(budget), "run_budget": cty.ObjectVal(budget),
		"prices": cty.MapVal(map[string]cty.Value{"m-*": cty.ObjectVal(map[string]cty.Value{
			"input": cty.StringVal("10 USD"), "output": cty.StringVal("20 USD"), "cache_read": cty.StringVal(""), "cache_write": cty.StringVal(""),
			"cache_write_hour": cty.StringVal(""), "input_audio": cty.StringVal(""), "max_output": cty.NumberIntVal(1000), "max_input": cty.NumberIntVal(100000),
		})}),
		"retry":       cty.ObjectVal(map[string]cty.Value{"attempts": cty.Zero, "longest": cty.StringVal("")}),
		"pause_clock": cty.False, "replay": cty.ListValEmpty(step.ArtifactType), "on_miss": cty.StringVal(""),
	}
	for n, v := range changes {
		if n == "budget" || n == "run_budget" {
			all := attrs[n].AsValueMap()
			for k, one := range v.AsValueMap() {
				all[k] = one
			}
			v = cty.ObjectVal(all)
		}
		attrs[n] = v
	}
	return cty.ObjectVal(attrs)
}

func withModels(line string, blocks ...cty.Value) cty.Value {
	return who([]string{"/bin/sh", "-c", line}, map[string]cty.Value{"models": cty.ListVal(blocks)})
}

// chat is a shell command that asks the model for a completion and prints it.
const chat = `ask() { curl -s -H "Authorization: Bearer ${KEY:-$OPENAI_API_KEY}" -H 'Content-Type: application/json' -d "$1" "$OPENAI_BASE_URL/chat/completions"; echo; }
`

func hello(model string) string {
	return `ask '{"model":"` + model + `","max_tokens":50,"messages":[{"role":"user","content":"hello"}]}'
`
}

// TestModels lets an agent talk to a model by the gateway: it has another key,
// what it may not do is refused, and everything is in the transcript.
func TestModels(t *testing.T) {
	t.Setenv("CANARY_KEY", canaryKey)
	server := &modeltest.Server{Key: canaryKey, Models: []string{"m-1"}}
	url := modeltest.Start(t, server)
	b := newBench(t)
	r := run(t, b, values(b, t, withModels(chat+hello("m-1")+hello("x-1")+
		`KEY=sk-wrong ask '{"model":"m-1","messages":[]}'
		ask '{"model":"m-1","max_tokens":50,"messages":[{"role":"user","content":"search"}],"web_search_options":{}}'
		curl -s $MLEFLOW_MODELS/budget; echo
		echo "key $OPENAI_API_KEY $MLEFLOW_MODEL_MAIN_KEY at $MLEFLOW_MODEL_MAIN_URL"
		env > $CODE_DIR/env; cat /proc/self/environ > $LOGS_DIR/environ
		echo id > $SUBMISSION_DIR/submission.csv`, block("main", "openai", url+"/v1", nil))))
	out := r.Logs["output.log"]
	for _, want := range []string{"hello", "web_search", `"limit":null`, "key *** *** at http://127.0.0.1:"} {
		if !strings.Contains(out, want) {
			t.Errorf("the agent's output lacks %q:\n%s", want, out)
		}
	}
	use := r.Stats.Models["main"]
	if use.Requests != 1 || use.Refused != 3 || use.InputTokens == 0 || use.CostUSD == "0" || len(use.Models) != 1 || use.Exhausted || r.Outcome != "finished" {
		t.Errorf("outcome %s, used %+v\n%s\n%s", r.Outcome, use, out, b.Log())
	}
	if calls := server.Calls(); len(calls) != 1 || calls[0].Header.Get("Authorization") != "Bearer "+canaryKey {
		t.Errorf("the provider got %+v", calls)
	}
	noCanary(t, b, r)
}

// noCanary sees that the provider's key is nowhere in the results, the log and
// the folders that the attempt left.
func noCanary(t *testing.T, b interface {
	Log() string
}, r result) {
	t.Helper()
	for where, files := range map[string]map[string]string{"logs": r.Logs, "code": r.Code, "submission": r.Submission} {
		for name, text := range files {
			if strings.Contains(text, canaryKey) {
				t.Errorf("%s/%s holds the provider's key", where, name)
			}
		}
	}
	if strings.Contains(b.Log(), canaryKey) {
		t.Error("the log holds the provider's key")
	}
}
