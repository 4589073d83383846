package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/step"
)

// modelKinds are testKinds where agents' models are checked, and where an
// attempt gives a transcript.
func modelKinds() *step.Registry {
	var all []step.Kind
	for _, name := range testKinds().Names() {
		k := *testKinds().Kind(name)
		if name == "solve" {
			k.Outputs = append(k.Outputs, artifactOut("transcript", step.Withheld))
			k.CheckModel = func(m step.Model) error {
				var wrong []error
				if m.Provider != "openai" {
					wrong = append(wrong, step.WrongArg("provider", fmt.Errorf("there is no provider %q", m.Provider)))
				}
				for label, p := range m.Prices {
					wrong = append(wrong, step.WrongArg("price."+label+".input", checkDollars(p.Input)))
				}
				if m.Budget.Cost != "" {
					wrong = append(wrong, step.WrongArg("budget.cost", checkDollars(m.Budget.Cost)))
				}
				return errors.Join(wrong...)
			}
		}
		all = append(all, k)
	}
	return step.NewRegistry(all...)
}

func checkDollars(text string) error {
	if strings.HasSuffix(text, " USD") && !strings.HasPrefix(text, "-") {
		return nil
	}
	return fmt.Errorf("%q is no amount", text)
}

// withModel is a pipeline with a model block of some lines, and what comes
// after it.
func withModel(lines, more string) string {
	return `
step "source" "raw" { id = "a" }
step "split" "data" { raw = step.source.raw.tree }
model "main" {
` + lines + `
}
agent "a" {
  command = ["true"]
  models  = [model.main]
}
step "solve" "x" {
  data  = step.split.data.public
  agent = agent.a
}
` + more
}

func parseModels(t *testing.T, path, src string) (*Graph, string) {
	t.Helper()
	p, diags := Parse(path, []byte(src), Options{Kinds: modelKinds(), Version: "0.1.0"})
	if diags.HasErrors() {
		return nil, diags.Error()
	}
	values, diags := p.Values(Inputs{})
	if diags.HasErrors() {
		return nil, diags.Error()
	}
	g, diags := p.Expand(values)
	if diags.HasErrors() {
		return g, diags.Error()
	}
	return g, ""
}

func TestModel(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "recording"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "recording", "events.jsonl"), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	lines := `
  provider    = "openai"
  base_url    = "http://10.0.0.5:8000/v1"
  key         = "env:CANARY"
  models      = ["gpt-5.5", "text-*"]
  tools       = ["web_search"]
  pause_clock = true
  replay      = "recording"
  on_miss     = "live"
  budget {
    cost       = "20 USD"
    tokens     = 5000000
    per_minute = 60
  }
  run_budget { cost = "500 USD" }
  retry { attempts = 4 }
  price "gpt-5.5" {
    input  = "1.25 USD"
    output = "10 USD"
  }
  price "text-*" {
    input  = "0.02 USD"
    output = "0 USD"
  }`
	g, bad := parseModels(t, filepath.Join(dir, "p.hcl"), withModel(lines, ""))
	if bad != "" {
		t.Fatal(bad)
	}
	args := argsOf(t, g, "step.solve.x")
	var got struct {
		Data  *step.Artifact `cty:"data"`
		Agent step.Agent     `cty:"agent"`
		Block *struct {
			Allow []string `cty:"allow"`
		} `cty:"network"`
	}
	if err := args.Decode(&got); err != nil {
		t.Fatal(err)
	}
	m := got.Agent.Models[0]
	if m.Name != "main" || m.Provider != "openai" || m.Key.Ref != "env:CANARY" || strings.Join(m.Models, " ") != "gpt-5.5 text-*" || m.Tools[0] != "web_search" ||
		!m.PauseClock || m.OnMiss != "live" || m.Budget.Cost != "20 USD" || m.Budget.Tokens != 5000000 || m.Budget.PerMinute != 60 || m.RunBudget.Cost != "500 USD" ||
		m.Retry.Attempts != 4 || m.Prices["gpt-5.5"].Output != "10 USD" || len(m.Replay) != 1 || m.Replay[0].Ref.Kind != cache.Tree {
		t.Errorf("decoded %+v", m)
	}
	kind := modelKinds().Kind("solve")
	key := func(lines string) string {
		g, bad := parseModels(t, filepath.Join(dir, "p.hcl"), withModel(lines, ""))
		if bad != "" {
			t.Fatal(bad)
		}
		h, err := step.Key(kind, argsOf(t, g, "step.solve.x"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, f := range h.Fields() {
			all = append(all, f.Label+"="+f.Value)
		}
		return strings.Join(all, "\n")
	}
	base := key(lines)
	if strings.Contains(base, "CANARY") || key(strings.ReplaceAll(lines, "CANARY", "OTHER")) != base {
		t.Errorf("the place of the key is in the step's key:\n%s", base)
	}
	for _, change := range [][2]string{{"20 USD", "21 USD"}, {"gpt-5.5\", ", "gpt-5.6\", "}, {"web_search", "mcp"}, {"10.0.0.5", "10.0.0.6"}, {"1.25 USD", "1.26 USD"}, {"500 USD", "501 USD"}, {"\"live\"", "\"fail\""}, {"replay ", "#"}} {
		if key(strings.ReplaceAll(lines, change[0], change[1])) == base {
			t.Errorf("%s → %s is not in the key:\n%s", change[0], change[1], base)
		}
	}
}

// argsOf returns the arguments of an instance when everything before it is done.
func argsOf(t *testing.T, g *Graph, address string) step.Args {
	t.Helper()
	ref := cache.Ref{ID: digest.Of(nil), Kind: cache.Tree}
	for i, inst := range g.Instances {
		if inst.Addr.String() == address {
			args, diags := g.Args(i)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			return args
		}
		outputs := cache.Outputs{}
		for _, o := range inst.Step.Kind.Outputs {
			outputs[o.Name] = cache.Value{Ref: ref}
			if o.Type != step.ArtifactType {
				outputs[o.Name] = cache.Value{JSON: []byte("1")}
			}
		}
		g.SetOutputs(i, outputs)
	}
	t.Fatal("there is no " + address)
	return step.Args{}
}

const plainModel = `  provider = "openai"
  models   = ["gpt-5.5"]
`

func TestModelRefused(t *testing.T) {
	tests := []struct{ name, lines, more, want string }{
		{"unknown provider", `provider = "opnai"
		  models = ["m"]`, "", `test.hcl:5,12-19: Invalid model; there is no provider "opnai".`},
		{"no provider", `models = ["m"]`, "", `"provider" is required`},
		{"no models", `provider = "openai"`, "", `"models" is required`},
		{"one model as a string", `provider = "openai"
		  models = "m"`, "", `models of a model must be list(string), not a string; write ["m"]`},
		{"cost form", plainModel + `budget { cost = "20 EUR" }`, "", `test.hcl:7,17-25: Invalid model; "20 EUR" is no amount`},
		{"negative cost", plainModel + `budget { cost = "-20 USD" }`, "", `"-20 USD" is no amount`},
		{"cost as a number", plainModel + `budget { cost = 20 }`, "", `"20" is no amount`},
		{"negative tokens", plainModel + `budget { tokens = -5 }`, "", "tokens must be an integer of at least 1"},
		{"half a request", plainModel + `budget { requests = 0.5 }`, "", "requests must be an integer of at least 1"},
		{"tokens as a word", plainModel + `budget { tokens = "many" }`, "", "tokens of a model must be number, and the given string is not a number"},
		{"bad price", plainModel + `price "gpt-5.5" {
		    input = "free"
		    output = "1 USD"
		  }`, "", `test.hcl:8,15-21: Invalid model; "free" is no amount`},
		{"price without output", plainModel + `price "m" { input = "1 USD" }`, "", `"output" is required`},
		{"key written out", plainModel + `key = "sk-proj-abc"`, "", "The key of a model must say where its value is"},
		{"unknown argument", plainModel + `bas_url = ""`, "", `Did you mean "base_url"`},
		{"unknown block", plainModel + `bugdet {}`, "", `Did you mean "budget"`},
		{"unknown limit", plainModel + `budget { costs = "1 USD" }`, "", `Did you mean "cost"`},
		{"two budgets", plainModel + "budget {}\nbudget {}", "", `The model "main" has a block budget already`},
		{"two prices", plainModel + "price \"m\" {\n input = \"1 USD\"\n output = \"1 USD\"\n}\nprice \"m\" {\n input = \"1 USD\"\n output = \"1 USD\"\n}", "", `The model "main" has a block price "m" already`},
		{"no such recording", plainModel + `replay = "nowhere"`, "", "Invalid replay"},
		{"a number as recording", plainModel + `replay = 3`, "", "replay must be the path of a folder"},
		{"duplicate", plainModel, "model \"main\" {\n" + plainModel + "}", `Model "main" is already declared at test.hcl:4`},
		{"reference", plainModel, `agent "b" {
		  command = ["true"]
		  models  = [model.mian]
		}`, `There is no model "mian". Did you mean "main"?`},
		{"a name as model", plainModel, `agent "b" {
		  command = ["true"]
		  models  = ["main"]
		}`, `models[0] of an agent must be a model block, such as model.NAME, in a list`},
		{"the same twice", plainModel, `agent "b" {
		  command = ["true"]
		  models  = [model.main, model["main"]]
		}`, `The model "main" is in the list of the agent's models twice`},
		{"private recording", plainModel + `replay = step.split.data.private`, "", "Private output"},
		{"transcript as data", plainModel, `step "solve" "y" { data = step.solve.x.transcript }`, "Private output"},
		{"made of a transcript", plainModel, `step "split" "t" { raw = step.solve.x.transcript }
		step "solve" "y" { data = step.split.t.rest }`, "Private output"},
		{"cycle", plainModel + `replay = step.solve.x.transcript`, "", "Cycle"},
	}
	for _, tt := range tests {
		_, got := parseModels(t, "test.hcl", withModel(tt.lines, tt.more))
		if !strings.Contains(got, tt.want) || strings.Contains(got, "sk-proj") {
			t.Errorf("%s: got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestReplayOfStep sees that a model block may replay what no agent may read,
// and that what replays it comes after it.
func TestReplayOfStep(t *testing.T) {
	g, bad := parseModels(t, "test.hcl", withModel(plainModel, `
model "again" {
  provider = "openai"
  models   = ["gpt-5.5"]
  replay   = step.solve.x.transcript
}
agent "b" {
  command = ["true"]
  models  = [model["again"]]
}
step "solve" "y" {
  data  = step.split.data.public
  agent = agent.b
}
output "said" {
  value = step.solve.x.transcript
  publish { to = "said" }
}`))
	if bad != "" {
		t.Fatal(bad)
	}
	i, _ := g.Find(addr.Single(addr.Step{Kind: "solve", Name: "y"}))
	if deps := g.Instances[i].Deps; len(deps) != 2 || g.Instances[deps[1]].Addr.String() != "step.solve.x" || g.Instances[i].Private {
		t.Errorf("depends on %v, private %v", deps, g.Instances[i].Private)
	}
	if v := argsOf(t, g, "step.solve.y").Get("agent").GetAttr("models"); v.LengthInt() != 1 || v.Index(cty.Zero).GetAttr("replay").LengthInt() != 1 {
		t.Errorf("got %#v", v)
	}
}

// TestModelPrices: prices may be a map, as a variable gives them; blocks take
// precedence.
func TestModelPrices(t *testing.T) {
	const lines = `
  provider = "openai"
  key      = "env:K"
  models   = ["m"]
  price "a" {
    input  = "3 USD"
    output = "4 USD"
  }
  prices = `
	for text, want := range map[string]string{
		`{ a = { input = "1 USD" }, b = { input = "2 USD", max_output = 5, output = "0 USD", cache_read = null } }`: "",
		`null`:                                              "",
		`{ b = { inptu = "1 USD" } }`:                       `Did you mean "input"?`,
		`{ b = { max_output = 1.5 } }`:                      "integer of at least 1",
		`{ b = { max_output = "many" } }`:                   "integer of at least 1",
		`{ b = { input = "1 USD" } }`:                       "needs input and output",
		`{ b = { input = "1 of them", output = "0 USD" } }`: "is no amount",
		`"1 USD"`: "prices of a model",
	} {
		g, bad := parseModels(t, "p.hcl", withModel(lines+text, ""))
		if want != "" {
			if !strings.Contains(bad, want) {
				t.Errorf("%s: %q, want %q", text, bad, want)
			}
			continue
		}
		if bad != "" {
			t.Errorf("%s: %s", text, bad)
			continue
		}
		var got struct {
			Data  *step.Artifact `cty:"data"`
			Agent step.Agent     `cty:"agent"`
			Block *struct {
				Allow []string `cty:"allow"`
			} `cty:"network"`
		}
		if err := argsOf(t, g, "step.solve.x").Decode(&got); err != nil {
			t.Fatal(err)
		}
		prices := got.Agent.Models[0].Prices
		if prices["a"].Input != "3 USD" || text != "null" && !cmp.Equal(prices["b"], step.ModelPrice{Input: "2 USD", Output: "0 USD", MaxOutput: 5}, cmpopts.EquateEmpty()) {
			t.Errorf("%s: %+v", text, prices)
		}
	}
}
