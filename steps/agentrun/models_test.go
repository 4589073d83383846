package agentrun_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

const canaryKey = "sk-canary-7d2f19a4c0b35e86"

// block is a model block with some arguments; the others are as if they were
// not written.
func block(name, provider, url string, changes map[string]cty.Value) cty.Value {
	budget := map[string]cty.Value{"cost": cty.StringVal(""), "tokens": cty.Zero, "requests": cty.Zero, "per_minute": cty.Zero, "concurrent": cty.Zero, "tool_calls_per_request": cty.Zero}
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
			"tool_calls": cty.MapValEmpty(cty.String), "tool_requests": cty.MapValEmpty(cty.String),
		})}),
		"retry":       cty.ObjectVal(map[string]cty.Value{"attempts": cty.Zero, "longest": cty.StringVal("")}),
		"pause_clock": cty.False, "replay": cty.ListValEmpty(step.ArtifactType), "on_miss": cty.StringVal(""), "record_tokens": cty.StringVal(""),
	}
	for n, v := range changes {
		if n == "budget" || n == "run_budget" {
			all := attrs[n].AsValueMap()
			maps.Copy(all, v.AsValueMap())
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

// clients ask for a submission in each dialect: what the agent sends, where, and
// how it would ask for a web search.
var clients = map[string]struct{ ask, search string }{
	"openai": {
		`curl -s -H "Content-Type: application/json" -H "Authorization: Bearer $OPENAI_API_KEY" -d '{"model":"m-1","max_tokens":90,"messages":[{"role":"user","content":"solve"}]}' $OPENAI_BASE_URL/chat/completions`,
		`curl -s -H "Content-Type: application/json" -H "Authorization: Bearer $OPENAI_API_KEY" -d '{"model":"m-1","input":"x","tools":[{"type":"web_search"}]}' $OPENAI_BASE_URL/responses`,
	},
	"anthropic": {
		`curl -s -H "Content-Type: application/json" -H "x-api-key: $ANTHROPIC_API_KEY" -H 'anthropic-version: 2023-06-01' -d '{"model":"m-1","max_tokens":90,"messages":[{"role":"user","content":"solve"}]}' $ANTHROPIC_BASE_URL/v1/messages`,
		`curl -s -H "Content-Type: application/json" -H "x-api-key: $ANTHROPIC_API_KEY" -H 'anthropic-version: 2023-06-01' -d '{"model":"m-1","max_tokens":90,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}' $ANTHROPIC_BASE_URL/v1/messages`,
	},
	"gemini": {
		`curl -s -H "Content-Type: application/json" -H "x-goog-api-key: $GEMINI_API_KEY" -d '{"contents":[{"role":"user","parts":[{"text":"solve"}]}],"generationConfig":{"maxOutputTokens":90}}' $GOOGLE_GEMINI_BASE_URL/v1beta/models/m-1:generateContent`,
		`curl -s -H "Content-Type: application/json" -H "x-goog-api-key: $GEMINI_API_KEY" -d '{"contents":[{"role":"user","parts":[{"text":"x"}]}],"tools":[{"googleSearch":{}}]}' $GOOGLE_GEMINI_BASE_URL/v1beta/models/m-1:generateContent`,
	},
}

// solver answers with a submission between two words.
func solver() *modeltest.Server {
	return &modeltest.Server{Key: canaryKey, Models: []string{"m-1"}, Answer: func(*modeltest.Ask) modeltest.Answer {
		return modeltest.Answer{Text: "BEGINid,y;11,a;12,b;END", Usage: &modeltest.Usage{Input: 7, Output: 9}}
	}}
}

const submitIt = ` | tr -d '\n' | sed 's/.*BEGIN\(.*\)END.*/\1/' | tr ';' '\n' > $SUBMISSION_DIR/submission.csv
`

// TestModelDialects lets a client of each dialect solve a competition by the
// gateway and refuses it a web search; the recording of the attempt answers
// again, without key and provider, and gives the same bytes.
func TestModelDialects(t *testing.T) {
	for provider, c := range clients {
		t.Run(provider, func(t *testing.T) {
			server := solver()
			b := newBench(t)
			line := c.ask + submitIt + c.search
			agent := withModels(line, block("main", provider, modeltest.Start(t, server), nil))
			out, err := b.Run(t, values(b, t, agent))
			if err != nil {
				t.Fatal(err)
			}
			var stats agentrun.Stats
			steptest.Decode(t, out["stats"], &stats)
			use := stats.Models["main"]
			if got := b.Files(t, out["submission"].Ref)["submission.csv"]; got != "id,y\n11,a\n12,b\n" {
				t.Errorf("submitted %q\n%s", got, b.Log())
			}
			if use.Requests != 1 || use.Refused != 1 || use.InputTokens != 7 || use.OutputTokens != 9 || use.CostUSD != "0.00025" || len(server.Calls()) != 1 {
				t.Errorf("used %+v", use)
			}
			said := b.Files(t, out["transcript"].Ref)
			if !strings.Contains(said["events.jsonl"], `"ability":"web_search"`) {
				t.Errorf("the refusal is not in the transcript: %s", said["events.jsonl"])
			}
			for name, text := range said {
				if strings.Contains(text, canaryKey) {
					t.Errorf("transcript/%s holds the provider's key", name)
				}
			}
			server.Reset()
			ref := out["transcript"].Ref
			again, err := b.Run(t, values(b, t, withModels(line, block("main", provider, "", map[string]cty.Value{
				"replay": cty.ListVal([]cty.Value{step.NewArtifact(&step.Artifact{From: "step.agent-run.x", Output: "transcript", Ref: ref})}),
			}))))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"submission", "code", "logs"} {
				if again[name].Ref != out[name].Ref {
					t.Errorf("replayed, %s is %v, not %v", name, b.Files(t, again[name].Ref), b.Files(t, out[name].Ref))
				}
			}
			steptest.Decode(t, again["stats"], &stats)
			if u := stats.Models["main"]; u.Replayed != 1 || u.OutputTokens != 9 || len(server.Calls()) != 0 {
				t.Errorf("replayed: %+v", u)
			}
		})
	}
}

// TestModelMiss sees that a replay fails loudly where the agent asks something
// else.
func TestModelMiss(t *testing.T) {
	b := newBench(t)
	out, err := b.Run(t, values(b, t, withModels(chat+hello("m-1"), block("main", "openai", modeltest.Start(t, solver()), nil))))
	if err != nil {
		t.Fatal(err)
	}
	recording := cty.ListVal([]cty.Value{step.NewArtifact(&step.Artifact{From: "step.agent-run.x", Output: "transcript", Ref: out["transcript"].Ref})})
	r := run(t, b, values(b, t, withModels(chat+strings.ReplaceAll(hello("m-1"), "hello", "goodbye"), block("main", "openai", "", map[string]cty.Value{"replay": recording}))))
	if said := r.Logs["output.log"]; !strings.Contains(said, "goodbye") || !strings.Contains(said, "hello") || r.Stats.Models["main"].Refused != 1 {
		t.Errorf("the agent is told %q, used %+v", said, r.Stats.Models)
	}
}

// TestModelBudget sees that an agent whose budget is exhausted ends with that
// outcome.
func TestModelBudget(t *testing.T) {
	t.Parallel()
	server := solver()
	url := modeltest.Start(t, server)
	b := newBench(t)
	for _, budget := range []map[string]cty.Value{{"requests": cty.NumberIntVal(2)}, {"cost": cty.StringVal("0.02 USD")}, {"tokens": cty.NumberIntVal(1800)}} {
		server.Reset()
		r := run(t, b, values(b, t, withModels(chat+strings.Repeat(hello("m-1"), 80)+"exit 3", block("main", "openai", url, map[string]cty.Value{"budget": cty.ObjectVal(budget)}))))
		use := r.Stats.Models["main"]
		if r.Outcome != "out_of_budget" || !use.Exhausted || use.Refused == 0 || int64(len(server.Calls())) != use.Requests {
			t.Errorf("%v: outcome %s, used %+v", budget, r.Outcome, use)
		}
	}
}

// TestRunBudget lets two attempts share a budget.
func TestRunBudget(t *testing.T) {
	server := solver()
	m := block("main", "openai", modeltest.Start(t, server), map[string]cty.Value{"run_budget": cty.ObjectVal(map[string]cty.Value{"requests": cty.NumberIntVal(5)})})
	b := newBench(t)
	for seed, want := range []int64{3, 2} {
		args := values(b, t, withModels(chat+strings.Repeat(hello("m-1"), 3), m))
		args["seed"] = cty.NumberIntVal(int64(seed))
		if r := run(t, b, args); r.Stats.Models["main"].Requests != want {
			t.Errorf("attempt %d used %+v, want %d requests", seed, r.Stats.Models["main"], want)
		}
	}
	if n := len(server.Calls()); n != 5 {
		t.Errorf("the provider got %d requests, the budget is 5", n)
	}
}

// TestModelResume interrupts an attempt at its second question: the next begins
// again, gets its first answer from what was recorded, and has the same budget.
func TestModelResume(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := true
	server := &modeltest.Server{Fault: func(a *modeltest.Ask) modeltest.Fault {
		if first && strings.Contains(a.Prompt(), "second") {
			first = false
			cancel()
			return modeltest.Fault{Never: true}
		}
		return modeltest.Fault{}
	}}
	b := newBench(t)
	line := chat + hello("m-1") + strings.ReplaceAll(hello("m-1"), "hello", "second") + "echo id > $SUBMISSION_DIR/submission.csv"
	args := values(b, t, withModels(line, block("main", "openai", modeltest.Start(t, server), map[string]cty.Value{
		"budget": cty.ObjectVal(map[string]cty.Value{"requests": cty.NumberIntVal(4)}),
	})))
	if _, err := b.RunIn(t, ctx, steptest.WorkDir(t), args); err == nil {
		t.Fatal("the attempt was not interrupted")
	}
	r := run(t, b, args)
	use := r.Stats.Models["main"]
	if r.Outcome != "finished" || use.Requests != 2 || use.Replayed != 1 || use.DivergedAt != 2 {
		t.Errorf("outcome %s, used %+v\n%s", r.Outcome, use, b.Log())
	}
	if n := len(server.Calls()); n != 3 {
		t.Errorf("the provider got %d requests, want 3: the first, the interrupted and the last", n)
	}
}

// TestPauseClock sees that an agent gets the time back that its provider fails,
// where the model block says so.
func TestPauseClock(t *testing.T) {
	t.Parallel()
	for _, pause := range []bool{false, true} {
		t.Run(fmt.Sprint(pause), func(t *testing.T) {
			t.Parallel()
			executortest.Slower(t, func(factor int) string { return pauseClock(t, pause, factor) })
		})
	}
}

// pauseClock runs an agent whose provider fails for longer than it may take. It says
// what was wrong.
func pauseClock(t *testing.T, pause bool, factor int) string {
	server := &modeltest.Server{Fault: func(a *modeltest.Ask) modeltest.Fault {
		if a.Number < 3 {
			return modeltest.Fault{Status: 429, RetryAfter: fmt.Sprint(2 * factor)}
		}
		return modeltest.Fault{}
	}}
	b := newBench(t)
	b.Limits = step.Limits{Timeout: time.Duration(factor) * 3 * time.Second}
	r := run(t, b, values(b, t, withModels(chat+hello("m-1")+"sleep 1; echo id > $SUBMISSION_DIR/submission.csv", block("main", "openai", modeltest.Start(t, server), map[string]cty.Value{
		"pause_clock": cty.BoolVal(pause),
		"retry":       cty.ObjectVal(map[string]cty.Value{"attempts": cty.NumberIntVal(5), "longest": cty.StringVal(fmt.Sprint(3*factor, "s"))}),
	}))))
	if want := map[bool]string{false: "timed_out", true: "finished"}[pause]; string(r.Outcome) != want {
		return fmt.Sprintf("pause_clock = %v: outcome %s, want %s; used %+v\n%s", pause, r.Outcome, want, r.Stats.Models, b.Log())
	}
	return ""
}

// TestModelResumeDamaged: what a failing machine left of an earlier try's
// transcript is used as far as it is whole, and never a reason to fail.
func TestModelResumeDamaged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		damage   func(t *testing.T, dir string)
		replayed int64
		said     string
	}{
		"half a line": {func(t *testing.T, dir string) {
			edit(t, dir, "events.jsonl", func(b []byte) []byte { return append(b, `{"seq`...) })
		}, 1, ""},
		"a damaged line": {func(t *testing.T, dir string) {
			edit(t, dir, "events.jsonl", func(b []byte) []byte { return append(b, "\x00\x00\n{}\n"...) })
		}, 1, ""},
		"no events": {func(t *testing.T, dir string) {
			edit(t, dir, "events.jsonl", func([]byte) []byte { return []byte("x\n") })
		}, 0, ""},
		"a lost response": {func(t *testing.T, dir string) {
			edit(t, dir, "responses.bin", func(b []byte) []byte { return b[:len(b)/2] })
		}, 0, ""},
		"a lost request": {func(t *testing.T, dir string) {
			edit(t, dir, "requests.bin", func(b []byte) []byte { return b[:len(b)/2] })
		}, 0, ""},
		"an unknown format": {func(t *testing.T, dir string) { edit(t, dir, "format", func([]byte) []byte { return nil }) }, 0, "sent again"},
		"a missing file":    {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "responses.bin")) }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first := true
			server := &modeltest.Server{Fault: func(a *modeltest.Ask) modeltest.Fault {
				if first && strings.Contains(a.Prompt(), "second") {
					first = false
					cancel()
					return modeltest.Fault{Never: true}
				}
				return modeltest.Fault{}
			}}
			b := newBench(t)
			line := chat + hello("m-1") + strings.ReplaceAll(hello("m-1"), "hello", "second") + "echo id > $SUBMISSION_DIR/submission.csv"
			args := values(b, t, withModels(line, block("main", "openai", modeltest.Start(t, server), nil)))
			if _, err := b.RunIn(t, ctx, steptest.WorkDir(t), args); err == nil {
				t.Fatal("the attempt was not interrupted")
			}
			var dir string
			for _, k := range kept(t, b) {
				if at := filepath.Join(k.Dir, "transcript"); strings.Contains(k.Key, "models-") {
					dir = at
				}
			}
			test.damage(t, dir)
			r := run(t, b, args)
			if use := r.Stats.Models["main"]; r.Outcome != "finished" || use.Requests != 2 || use.Replayed != test.replayed {
				t.Errorf("outcome %s, used %+v\n%s", r.Outcome, use, b.Log())
			}
			if out := r.Logs["output.log"]; strings.Count(out, "You said") != 2 || strings.Contains(out, "\x00") {
				t.Errorf("the agent was told %q", out)
			}
			if !strings.Contains(b.Log(), test.said) {
				t.Errorf("the log does not say %q:\n%s", test.said, b.Log())
			}
		})
	}
}

func edit(t *testing.T, dir, name string, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(data), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
