package agentrun_test

import (
	"net"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// TestProviderFails lets the provider fail in different ways: if that explains the end
// of the attempt, the result is not final.
func TestProviderFails(t *testing.T) {
	const submit = "echo id > $SUBMISSION_DIR/submission.csv\n"
	other := strings.ReplaceAll(hello("m-1"), "hello", "second")
	fails := func(status int, text string, from, to int) func(*modeltest.Ask) modeltest.Fault {
		return func(a *modeltest.Ask) modeltest.Fault {
			if a.Number < from || a.Number > to {
				return modeltest.Fault{}
			}
			return modeltest.Fault{Status: status, Text: text}
		}
	}
	for name, c := range map[string]struct {
		fault          func(*modeltest.Ask) modeltest.Fault
		provider, line string
		outcome, why   string
	}{
		"5xx all the time":           {fault: fails(503, "", 1, 99), line: chat + hello("m-1") + "exit 1", outcome: "provider_failed", why: `"main" answered with status 503`},
		"dies after an answer":       {fault: fails(500, "", 2, 99), line: chat + hello("m-1") + other + "exit 1", outcome: "provider_failed", why: "status 500"},
		"exit 0 without submission":  {fault: fails(502, "", 2, 99), line: chat + hello("m-1") + other, outcome: "provider_failed", why: "status 502"},
		"recovers, and it submits":   {fault: fails(500, "", 1, 1), line: chat + hello("m-1") + other + submit, outcome: "finished"},
		"fails once, and it submits": {fault: fails(500, "", 2, 2), line: chat + hello("m-1") + other + submit, outcome: "finished"},
		"recovers, and it fails":     {fault: fails(500, "", 1, 1), line: chat + hello("m-1") + other + "exit 1", outcome: "agent_failed"},
		"quota":                      {fault: fails(429, "You exceeded your current quota.", 1, 99), line: chat + hello("m-1"), outcome: "provider_failed", why: "exceeded your current quota"},
		"key":                        {fault: fails(401, "Incorrect API key provided.", 1, 99), line: chat + hello("m-1") + "exit 1", outcome: "provider_failed", why: "Incorrect API key"},
		"no money":                   {fault: fails(402, "", 1, 99), line: chat + hello("m-1") + "exit 1", outcome: "provider_failed", why: "Payment Required"},
		"reset":                      {fault: func(*modeltest.Ask) modeltest.Fault { return modeltest.Fault{Reset: true} }, line: chat + hello("m-1") + "exit 1", outcome: "provider_failed", why: "did not answer"},
		"misuse":                     {fault: fails(400, "Invalid value.", 1, 99), line: chat + hello("m-1") + "exit 1", outcome: "agent_failed"},
		"unknown model":              {fault: fails(404, "The model does not exist.", 1, 99), line: chat + hello("m-1"), outcome: "no_submission"},
		"credits of anthropic":       {fault: fails(400, "Your credit balance is too low to access the API.", 1, 99), provider: "anthropic", line: clients["anthropic"].ask, outcome: "provider_failed", why: "credit balance"},
		"key of gemini":              {fault: fails(400, "API key not valid. Please pass a valid API key.", 1, 99), provider: "gemini", line: clients["gemini"].ask, outcome: "provider_failed", why: "API key not valid"},
		"no request":                 {line: "exit 1", outcome: "agent_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider, path := "openai", "/v1"
			if c.provider != "" {
				provider, path = c.provider, ""
			}
			url := modeltest.Start(t, &modeltest.Server{Key: canaryKey, Models: []string{"m-1"}, Fault: c.fault})
			b := newBench(t)
			r := run(t, b, values(b, t, withModels(c.line, block("main", provider, url+path, map[string]cty.Value{
				"retry": cty.ObjectVal(map[string]cty.Value{"attempts": cty.NumberIntVal(1), "longest": cty.StringVal("")}),
			}))))
			if string(r.Outcome) != c.outcome || (b.Provisional() != "") != (c.why != "") || !strings.Contains(b.Provisional(), c.why) {
				t.Errorf("outcome %s, provisional %q; want %s for %q\n%s", r.Outcome, b.Provisional(), c.outcome, c.why, b.Log())
			}
			noCanary(t, b, r)
		})
	}
}

// TestProviderIsGone: nobody listens where the provider should be.
func TestProviderIsGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String() + "/v1"
	_ = l.Close()
	b := newBench(t)
	r := run(t, b, values(b, t, withModels(chat+hello("m-1")+"exit 1", block("main", "openai", url, map[string]cty.Value{
		"retry": cty.ObjectVal(map[string]cty.Value{"attempts": cty.NumberIntVal(1), "longest": cty.StringVal("")}),
	}))))
	if r.Outcome != "provider_failed" || !strings.Contains(b.Provisional(), "connection refused") {
		t.Errorf("outcome %s, provisional %q\n%s", r.Outcome, b.Provisional(), b.Log())
	}
}

// TestBudgetTooSmall: a budget that allows no request is not the agent's failure.
func TestBudgetTooSmall(t *testing.T) {
	server := solver()
	b := newBench(t)
	r := run(t, b, values(b, t, withModels(chat+hello("m-1")+"exit 1", block("main", "openai", modeltest.Start(t, server)+"/v1", map[string]cty.Value{
		"budget": cty.ObjectVal(map[string]cty.Value{"cost": cty.StringVal("0.0001 USD")}),
	}))))
	said := r.Logs["output.log"]
	if r.Outcome != "budget_too_small" || !strings.Contains(b.Provisional(), `"main"`) || len(server.Calls()) != 0 {
		t.Errorf("outcome %s, provisional %q", r.Outcome, b.Provisional())
	}
	for _, want := range []string{"needs up to", "is left", "max_output_tokens"} {
		if !strings.Contains(said, want) {
			t.Errorf("the refusal lacks %q: %s", want, said)
		}
	}
}
