package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/enginetest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/publish"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

type runFunc func(ctx context.Context, env *step.Env) (cache.Outputs, error)

func (f runFunc) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) { return f(ctx, env) }

// answers is in everything that is private in these tests.
const answers = "ANSWER"

// exam is a folder with private files, and what ran there.
type exam struct {
	t   *testing.T
	dir string
	mu  sync.Mutex
	// agents are the steps of agents that ran.
	agents []string
	place  engine.Elsewhere
	cache  *memory.Cache
	// events are those of the last apply.
	events []event.Event
}

func newExam(t *testing.T) *exam {
	x := &exam{t: t, dir: t.TempDir(), cache: memory.New()}
	for name, text := range map[string]string{"comp/prepared/private/answers.csv": "id1," + answers + "1\nid2," + answers + "2\n",
		"reads.txt": `${file("comp/prepared/private/answers.csv")}`, "loop.txt": `%{ for l in split("\n", v) }${l};%{ endfor }`} {
		path := filepath.Join(x.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func (x *exam) engine() *engine.Engine {
	text := func(v string) cache.Value { b, _ := json.Marshal(v); return cache.Value{JSON: b} }
	content := func(ctx context.Context, env *step.Env, v string) cache.Value {
		ref, err := cache.PutBytes(ctx, env.Store, []byte(v))
		if err != nil {
			x.t.Error(err)
		}
		return cache.Value{Ref: ref}
	}
	kinds := []step.Kind{
		enginetest.Mix("mix", "1", &enginetest.Recorder{}),
		{Name: "prepare", Version: "1", Args: []step.Attr{{Name: "competition", Type: cty.String}, {Name: "raw", Type: step.ArtifactType}}, Outputs: []step.Output{{Name: "private", Type: step.ArtifactType, Secrecy: step.Private},
			{Name: "public", Type: step.ArtifactType, Secrecy: step.Public}, {Name: "word", Type: cty.String, Secrecy: step.Private}},
			New: func(args step.Args) (step.Step, error) {
				var a struct {
					Competition *string        `cty:"competition"`
					Raw         *step.Artifact `cty:"raw"`
				}
				if err := args.Decode(&a); err != nil {
					return nil, err
				}
				if a.Competition != nil && strings.Contains(*a.Competition, answers) {
					return nil, &step.ArgError{Arg: "competition", Err: fmt.Errorf("there is no %q", *a.Competition)}
				}
				return runFunc(func(ctx context.Context, env *step.Env) (cache.Outputs, error) {
					return cache.Outputs{"private": content(ctx, env, answers), "public": content(ctx, env, "train"), "word": text(answers)}, nil
				}), nil
			}},
		{Name: "held", Version: "1", Outputs: []step.Output{{Name: "transcript", Type: step.ArtifactType, Secrecy: step.Withheld}},
			New: func(step.Args) (step.Step, error) {
				return runFunc(func(ctx context.Context, env *step.Env) (cache.Outputs, error) {
					return cache.Outputs{"transcript": content(ctx, env, answers)}, nil
				}), nil
			}},
		{Name: "agent-run", Version: "1", Untrusted: true,
			Args: []step.Attr{{Name: "prompt", Type: cty.String}, {Name: "data", Type: step.ArtifactType}, {Name: "files", Type: cty.Map(step.ArtifactType), Files: true},
				{Name: "agent", Type: step.AgentType}, {Name: "env", Type: cty.Map(cty.String)}},
			Outputs: []step.Output{{Name: "out", Type: step.ArtifactType}, {Name: "said", Type: cty.String}},
			New: func(step.Args) (step.Step, error) {
				return runFunc(func(ctx context.Context, env *step.Env) (cache.Outputs, error) {
					x.mu.Lock()
					x.agents = append(x.agents, env.Address)
					x.mu.Unlock()
					return cache.Outputs{"out": content(ctx, env, "out"), "said": text("said")}, nil
				}), nil
			}},
	}
	return engine.New(engine.Options{Options: config.Options{Kinds: step.NewRegistry(kinds...), Version: "0.1.0"}, Cache: x.cache, Capacity: sched.Capacity{CPUs: 4, MemoryBytes: 8 << 30},
		Elsewhere: x.place, Places: publish.Open(filepath.Join(x.dir, "state"))})
}

const examSteps = `
step "mix" "pick" { text = "pick" }
step "prepare" "data" { for_each = toset(["a", "b"]) }
step "held" "h" {}
locals {
  answers = file("comp/prepared/private/answers.csv")
  later   = strlen(step.mix.pick.value) > 0 ? "a" : "b"
}
`

// apply applies a pipeline to which source is added.
func (x *exam) apply(source string) (*engine.Result, diag.List) {
	x.agents, x.events = nil, nil
	e := x.engine()
	p, diags := e.Parse(filepath.Join(x.dir, "p.hcl"), []byte(examSteps+source), config.Inputs{})
	if diags.HasErrors() {
		return nil, diags
	}
	return e.Apply(context.Background(), p, engine.ApplyOptions{Parallelism: 1, Sink: event.SinkFunc(func(ev event.Event) { x.events = append(x.events, ev) })})
}

// TestAnswersReachNobody tries to give an agent the answers, or to show them, in every
// way that the language has. Every pipeline is refused before anything runs.
func TestAnswersReachNobody(t *testing.T) {
	agent := func(args string) string { return "step \"agent-run\" \"x\" {\n" + args + "\n}" }
	mix := func(args string) string {
		return "step \"mix\" \"m\" {\n" + args + "\n}\n" + agent("data = step.mix.m.content")
	}
	cheats := map[string]string{
		"digest of a file":    agent(`prompt = filesha256("comp/prepared/private/answers.csv")`),
		"names of files":      agent(`prompt = join(",", fileset(".", "**/*.csv"))`),
		"template":            agent(`prompt = templatefile("comp/prepared/private/answers.csv", {})`),
		"template that reads": agent(`prompt = templatefile("reads.txt", {})`),
		"template of a loop":  agent(`prompt = templatefile("loop.txt", { v = local.answers })`),
		"keys":                agent("for_each = toset(split(\"\\n\", local.answers))\nprompt = each.key"),
		"values":              agent("for_each = { for i, l in split(\"\\n\", local.answers) : i => l }\nprompt = each.value"),
		"keys of a trusted step": "step \"mix\" \"m\" {\n for_each = toset(split(\"\\n\", local.answers))\n text = each.key\n}\n" +
			agent(`data = step.mix.m["id1,ANSWER1"].content`),
		"matrix":              "agent \"a\" {\n matrix = { row = slice(split(\"\\n\", local.answers), 0, 1) }\n command = [\"x\"]\n env = { H = each.value.row }\n}\n" + "step \"agent-run\" \"x\" {\n for_each = agents(agent.a)\n agent = each.value\n}",
		"number of agents":    "agent \"a\" {\n for_each = toset([for i in range(length(split(\"\\n\", local.answers))) : \"${i}\"])\n command = [\"x\"]\n}\nstep \"agent-run\" \"x\" {\n for_each = agents(agent.a)\n agent = each.value\n}",
		"agent":               "agent \"a\" {\n command = [\"x\"]\n env = { H = try(jsondecode(local.answers), \"no\") }\n}\n" + agent("agent = agent.a"),
		"can":                 agent(`prompt = can(regex("ANSWER1", local.answers)) ? "yes" : "no"`),
		"try":                 agent(`prompt = try(tostring(tonumber(local.answers)), "bad")`),
		"try in a loop":       agent(`prompt = join(",", [for w in ["ANSWER1", "b"] : try(regex(w, local.answers), "no")])`),
		"template that fails": agent(`prompt = can(templatefile("comp/prepared/private/answers.csv", {})) ? "y" : "n"`),
		"index of an object":  agent(`prompt = { (local.answers) = "x", y = "z" }[local.answers]`),
		"found in an object":  agent(`prompt = { for i in range(100) : "${i}" => "n${i}" }["${strlen(local.answers)}"]`),
		"expanded":            agent(`prompt = "${max(0, [for l in split("\n", local.answers) : 1 if l == "other"]...)}"`),
		"encoded":             agent(`prompt = jsonencode({ for l in split("\n", local.answers) : l => format("%s", l)... })`),
		"chain of locals":     "locals {\n l1 = { v = local.answers }\n l2 = [local.l1]\n l3 = local.l2[*].v\n l4 = length(local.l3[0]) > 3\n}\n" + agent(`prompt = local.l4 ? "y" : "n"`),
		"timeout":             agent(`timeout = strlen(local.answers) > 20 ? "1h" : "2h"`),
		"resources":           agent("resources { memory = \"${strlen(local.answers)}MiB\" }"),
		"retry":               agent("retry { attempts = strlen(local.answers) }"),
		"env":                 agent(`env = { (substr(local.answers, 0, 3)) = "1" }`),
		"files":               agent(`files = { "x" = substr(local.answers, 0, 3) == "id1" ? "reads.txt" : "loop.txt" }`),

		"later key":           agent(`data = step.prepare.data[local.later].private`),
		"later text":          agent(`prompt = step.prepare.data[local.later].word`),
		"later filter":        agent(`files = { for k, v in step.prepare.data : k => v.private if k == local.later }`),
		"later choice":        agent(`data = step.mix.pick.value == "x" ? step.prepare.data["a"].private : step.prepare.data["a"].public`),
		"later choice of all": agent(`prompt = jsonencode(step.mix.pick.value == "x" ? { a = step.prepare.data["a"].word } : { a = "none" })`),
		"later loop":          agent(`prompt = join(",", [for x in split(",", step.mix.pick.value) : step.prepare.data["a"].word])`),
		"later template":      agent(`prompt = "%{ for x in split(",", step.mix.pick.value) }${step.prepare.data["a"].word}%{ endfor }"`),
		"later names":         agent(`prompt = join(",", keys({ (step.prepare.data["a"].word) = 1 }))`),
		"later can":           agent(`prompt = can(regex("A", step.prepare.data["a"].word)) ? "y" : "n"`),
		"later try":           agent(`prompt = try(step.prepare.data[local.later].word, "none")`),
		"later expanded":      agent(`prompt = join(",", concat([], split(",", step.prepare.data["a"].word)...))`),
		"not later":           agent(`prompt = !(step.prepare.data["a"].word == "x") ? "y" : "n"`),
		"later splat":         agent(`prompt = join(",", [for v in values(step.prepare.data) : v if step.mix.pick.value == "x"][*].word)`),
		"through a step":      mix("text = \"m\"\ninputs = [for k, v in step.prepare.data : v.private if k == local.later]"),
		"through a text":      mix("text = step.prepare.data[local.later].word\ninputs = []"),
		"through element":     mix("text = element(values(step.prepare.data), strlen(step.mix.pick.value)).word\ninputs = []"),
		"through depends_on":  mix("depends_on = [step.prepare.data]\ntext = \"m\"\ninputs = slice(values(step.prepare.data)[*].private, 0, strlen(step.mix.pick.value) - 3)"),
		"through two steps":   "step \"mix\" \"n\" {\n text = try(step.prepare.data[local.later].word, \"none\")\n inputs = []\n}\n" + mix("text = \"m\"\ninputs = [step.mix.n.content]"),

		"error of an agent's keys":           "agent \"a\" {\n command = [\"x\"]\n env = { (local.answers) = [] }\n}",
		"error of a secret":                  "agent \"a\" {\n command = [\"x\"]\n secrets = { (local.answers) = \"x\" }\n}",
		"error of an agent's files":          "agent \"a\" {\n command = [\"x\"]\n files = { x = split(\"\\n\", local.answers)[0] }\n}",
		"error of prices":                    "model \"m\" {\n provider = \"openai\"\n models = [\"x\"]\n prices = { (local.answers) = { bad = \"1\" } }\n}",
		"error of a model":                   "model \"m\" {\n provider = \"openai\"\n models = [\"x\"]\n prices = { (local.answers) = [1] }\n}",
		"error of a recording":               "model \"m\" {\n provider = \"openai\"\n models = [\"x\"]\n replay = split(\"\\n\", local.answers)[0]\n}",
		"error of a kind":                    "step \"prepare\" \"p\" { competition = local.answers }\n",
		"place":                              "step \"mix\" \"m\" {\n text = \"m\"\n on = split(\"\\n\", local.answers)[0]\n}",
		"memory":                             "step \"mix\" \"m\" {\n text = \"m\"\n resources { memory = \"${strlen(local.answers)}GiB\" }\n}",
		"recording":                          "model \"m\" {\n provider = \"openai\"\n models = [\"x\"]\n replay = step.held.h.transcript\n}\n" + agent("data = model.m.replay[0]"),
		"later recording":                    "model \"m\" {\n provider = \"openai\"\n models = [\"x\"]\n replay = [for k in [1] : step.held.h.transcript if step.mix.pick.value != \"\"]\n}\n" + agent("data = model.m.replay[0]"),
		"recording through a step":           "model \"m\" {\n provider = \"openai\"\n models = [\"x\"]\n replay = step.held.h.transcript\n}\nstep \"mix\" \"m\" {\n text=\"x\"\n inputs = model.m.replay\n}\n" + agent("data = step.mix.m.content"),
		"public output of a text":            "step \"prepare\" \"p\" { competition = strlen(local.answers) > 3 ? \"a\" : \"b\" }\n" + agent("data = step.prepare.p.public"),
		"public output of a later text":      "step \"prepare\" \"p\" { competition = step.prepare.data[\"a\"].word == \"x\" ? \"a\" : \"b\" }\n" + agent("data = step.prepare.p.public"),
		"public output of a choice":          "step \"prepare\" \"p\" { raw = step.prepare.data[\"a\"].word == \"x\" ? step.prepare.data[\"a\"].private : step.prepare.data[\"b\"].private }\n" + agent("data = step.prepare.p.public"),
		"public output of a choice of files": "step \"prepare\" \"p\" { raw = strlen(local.answers) > 1 ? file(\"reads.txt\") : step.prepare.data[\"b\"].private }\n" + agent("data = step.prepare.p.public"),
		"public output of one alike":         "step \"prepare\" \"p\" {\n for_each = { x = { v = \"1\" }, y = { v = \"1\" } }\n competition = \"${each.value.v}${strlen(local.answers)}\"\n}\n" + agent("data = step.prepare.p[\"y\"].public"),
		"published public output":            "step \"prepare\" \"p\" {\n competition = strlen(local.answers) > 3 ? \"a\" : \"b\"\n publish {\n to = \"o\"\n output = \"public\"\n }\n}\n",
		"later loop over a map":              agent(`prompt = length([for k, v in { a = local.answers} : k if step.mix.pick.value == v]) > 0 ? "a" : "b"`),
		"template of a later path":           agent(`prompt = templatefile(step.mix.pick.value == "" ? "loop.txt" : "loop.txt", { v = local.answers })`),
		"zipmap":                             agent(`prompt = keys(zipmap([local.answers], [1]))[0]`),
		"regexall":                           agent(`prompt = "${length(regexall("A", local.answers))}"`),
		"setproduct":                         agent(`prompt = "${length(setproduct(split("\n", local.answers), [1]))}"`),
		"splat of null":                      agent(`prompt = "${length((strlen(local.answers) > 3 ? null : "x")[*])}"`),
		"later choice of types":              agent(`prompt = can((step.prepare.data["a"].word == "x" ? { a = 1 } : { a = 1, b = 2 }).b) ? "a" : "b"`),
		"later heredoc":                      agent("prompt = <<EOT\n%{ if step.prepare.data[\"a\"].word == \"\" ~}\nx\n%{ endif ~}\nEOT"),
		"model":                              "model \"m\" {\n provider = \"openai\"\n models = [\"x\"]\n budget { cost = \"${strlen(local.answers)} USD\" }\n}\n" + agent("prompt = model.m.budget.cost"),
		"evaluation":                         "evaluate \"e\" {\n agents = [local.answers, \"b\"]\n over = step.prepare.data\n budget = strlen(local.answers)\n}",
		"validation":                         "variable \"v\" {\n default = \"x\"\n validation {\n condition = file(\"comp/prepared/private/answers.csv\") == var.v\n error_message = \"${jsonencode([file(\"comp/prepared/private/answers.csv\")])}\"\n }\n}",
		"folder":                             "locals { d = dir(\".\", { exclude = split(\"\\n\", local.answers) }) }\n" + agent(`data = local.d`),
		"later lookup":                       agent(`prompt = lookup({ a = "x" }, step.prepare.data["a"].word, "none")`),
		"later element":                      agent(`prompt = element(["a","b","c"], strlen(step.prepare.data["a"].word))`),

		"output":                 `output "o" { value = step.prepare.data[local.later].word }`,
		"output of a file":       `output "o" { value = upper(local.answers) }`,
		"output of a choice":     `output "o" { value = strlen(local.answers) > 3 ? step.prepare.data["a"].public : step.prepare.data["b"].public }`,
		"published output":       "output \"o\" {\n value = step.prepare.data[local.later].private\n publish { to = \"o\" }\n}",
		"published step":         "step \"mix\" \"m\" {\n text = \"m\"\n inputs = [for k, v in step.prepare.data : v.private if k == local.later]\n publish { to = \"o\" }\n}",
		"published path":         "step \"mix\" \"m\" {\n text = \"m\"\n publish {\n to = \"x-${substr(local.answers, 0, 3)}\"\n private = true\n }\n}",
		"error":                  `output "o" { value = parseint(local.answers, 10) }`,
		"error of a key":         `output "o" { value = { (local.answers) = 1 }["x"] }`,
		"error of a wrong key":   `output "o" { value = { x = 1 }[local.answers] }`,
		"error of a type":        "step \"mix\" \"m\" { text = { (local.answers) = {} } }",
		"error in a template":    `output "o" { value = templatefile("comp/prepared/private/answers.csv", local.answers) }`,
		"error of a duplicate":   `output "o" { value = { for i in [1, 2] : local.answers => i } }`,
		"error of all arguments": `output "o" { value = try(parseint(local.answers, 10), tonumber(local.answers)) }`,
		"error of an address":    "step \"mix\" \"m\" {\n for_each = concat([local.answers], [local.answers])\n text = each.key\n}",
	}
	for name, source := range cheats {
		t.Run(name, func(t *testing.T) {
			x := newExam(t)
			res, diags := x.apply(source)
			if !diags.HasErrors() || len(x.agents) > 0 {
				t.Fatalf("it is not refused: %+v, agents %v", res, x.agents)
			}
			if text := diags.Error(); strings.Contains(text, answers) && !strings.Contains(source, answers) {
				t.Errorf("the error has the answers: %s", text)
			}
			for _, d := range diags {
				if strings.Contains(d.Detail, answers) || d.EvalContext != nil {
					t.Errorf("the error has the answers: %s", d.Detail)
				}
			}
		})
	}
}

// TestPublicStaysPublic sees that what only looks private is not refused.
func TestPublicStaysPublic(t *testing.T) {
	for name, args := range map[string]string{
		"loop":           `files = { for k, v in step.prepare.data : k => v.public }`,
		"later filter":   `files = { for k, v in step.prepare.data : k => v.public if k == local.later }`,
		"later key":      `data = step.prepare.data[local.later].public`,
		"later choice":   `data = (step.mix.pick.value == "x" ? step.prepare.data["a"] : step.prepare.data["b"]).public`,
		"later splat":    `data = [for v in values(step.prepare.data)[*].public : v if step.mix.pick.value != ""][0]`,
		"try":            `data = try(step.prepare.data["none"].public, step.prepare.data["a"].public)`,
		"try later":      `data = try(step.prepare.data[local.later].public, step.prepare.data["a"].public)`,
		"key of another": `data = step.prepare.data[step.mix.pick.value == "x" ? "b" : "a"].public`,
		"each":           "for_each = step.prepare.data\n data = each.value.public",
		"keys":           "for_each = toset(keys(step.prepare.data))\n prompt = each.key",
		"lookup":         `data = lookup(step.prepare.data, local.later, step.prepare.data["a"]).public`,
		"element":        `data = element(values(step.prepare.data), strlen(step.mix.pick.value)).public`,
		"element of two": `data = element([step.prepare.data["a"], step.prepare.data["b"]], strlen(step.mix.pick.value)).public`,
		"private raw":    "data = step.prepare.second.public\n}\nstep \"prepare\" \"second\" {\n raw = step.prepare.data[\"a\"].private",
		"private file":   "data = step.prepare.second.public\n}\nstep \"prepare\" \"second\" {\n raw = file(\"comp/prepared/private/answers.csv\")",
	} {
		t.Run(name, func(t *testing.T) {
			x := newExam(t)
			for range 2 { // made, then cached
				res, diags := x.apply("step \"agent-run\" \"x\" {\n" + args + "\n}")
				if diags.HasErrors() || res.Status != event.Ran {
					t.Fatal(diags, res)
				}
			}
		})
	}
}

// TestForeignPrivate sees that a file that turns out to be private when a step is decided
// stops the step, and those that read it.
func TestForeignPrivate(t *testing.T) {
	const path = `"comp/prepared/private/${step.mix.pick.value == "" ? "x" : "answers.csv"}"`
	for name, source := range map[string]string{
		"a step":   "step \"mix\" \"m\" { text = file(" + path + ") }\nstep \"agent-run\" \"x\" { data = step.mix.m.content }",
		"an agent": "step \"agent-run\" \"x\" { prompt = file(" + path + ") }",
	} {
		x := newExam(t)
		res, diags := x.apply(source)
		if diags.HasErrors() || res.Status != event.Failed || len(x.agents) > 0 {
			t.Errorf("%s: %v %+v, agents %v", name, diags, res, x.agents)
		}
	}
	x := newExam(t)
	res, diags := x.apply("output \"o\" {\n value = file(" + path + ")\n publish { to = \"o\" }\n}")
	if diags.HasErrors() || res.Status != event.Failed {
		t.Errorf("an output: %v %+v", diags, res)
	}
	if _, err := os.Stat(filepath.Join(x.dir, "o")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is published: %v", err)
	}
}

// cloud is a place that is not trusted with private content.
type cloud struct{}

func (cloud) Place(_, on string) (*engine.Place, error) {
	if on == "cloud" {
		return &engine.Place{Name: "cloud", Where: "test"}, nil
	}
	return nil, nil
}
func (cloud) Unfit(context.Context, string, digest.ActionID, step.Limits) string { return "" }
func (cloud) Do(context.Context, engine.Job) (engine.Outcome, error) {
	return engine.Outcome{}, errors.New("the place was asked")
}

// TestUntrustedPlace sees that a place that is not trusted gets no private content that a
// later value chooses.
func TestUntrustedPlace(t *testing.T) {
	for _, inputs := range []string{`[for k, v in step.prepare.data : v.private if k == local.later]`, `[step.prepare.data[local.later].private]`, `[try(step.prepare.data[local.later].private, step.mix.pick.content)]`} {
		x := newExam(t)
		x.place = cloud{}
		_, diags := x.apply("step \"mix\" \"m\" {\n on = \"cloud\"\n text = \"m\"\n inputs = " + inputs + "\n}")
		if !diags.HasErrors() || !strings.Contains(diags.Error(), "not trusted") {
			t.Errorf("%s: %v", inputs, diags)
		}
	}
}

// idioms are expressions over a later value, with their values when it is "1234".
var idioms = map[string]string{
	`V`: "1234", `try(V, "none")`: "1234", `can(V) ? "y" : "n"`: "y", `coalesce(V, "none")`: "1234", `lookup({ "1234" = "good" }, V, "bad")`: "good", `{ "1234" = "good", x = "y" }[V]`: "good",
	`try({ a = "good" }[V], "bad")`: "bad", `jsonencode({ v = V })`: `{"v":"1234"}`, `join(",", [for v in [V] : v if v != "x"])`: "1234", `templatefile("t.txt", { v = V })`: "v is 1234",
	`"%{ if V == "1234" }yes%{ else }no%{ endif }"`: "yes", `contains(["1234"], V) ? "a" : "b"`: "a", `element(["a", "b"], strlen(V))`: "a", `["a", "b"][strlen(V) > 3 ? 0 : 1]`: "a",
	`keys({ (V) = 1 })[0]`: "1234", `format("%s", V)`: "1234", `merge({ a = "x" }, { a = V }).a`: "1234", `flatten([[V]])[0]`: "1234", `distinct([V, "a"])[0]`: "1234",
	`tostring(length(toset([V, "1234"])))`: "1", `setproduct([V], ["x"])[0][0]`: "1234", `zipmap([V], ["x"])[V]`: "x", `{ for k in [V] : k => "v" }[V]`: "v", `jsondecode(jsonencode({ a = V })).a`: "1234",
	`split("2", V)[0]`: "1", `regexall("1", V)[0]`: "1", `reverse([V])[0]`: "1234", `compact([V])[0]`: "1234", `sort(["z", V])[0]`: "1234", `tostring(range(strlen(V))[0])`: "0",
	`step.mix.all[V == "x" ? "b" : "a"].value`: "a", `can(step.mix.all[V].value) ? "y" : "n"`: "n", `try(step.mix.all[V].value, "none")`: "none", `[for k, v in step.mix.all : k if V != "x"][1]`: "b", `"%{ for c in split("", V) }<${c}>%{ endfor }"`: "<1><2><3><4>",
	`!(V == "x") ? "y" : "n"`: "y", `max([for c in split("", V) : parseint(c, 10)]...) > 3 ? "y" : "n"`: "y", `{ "x-${V}" = V }["x-1234"]`: "1234", `coalescelist(compact([V]), ["none"])[0]`: "1234", `([{ v = V }][*].v)[0]`: "1234", `flatten([jsondecode(jsonencode([V])), "x"])[1]`: "x", `length(flatten([jsondecode(jsonencode([V, V])), "x"])) == 3 ? "y" : "n"`: "y",
}

// TestIdioms sees that a step waits for what it reads, however it is written, and gets
// the right value.
func TestIdioms(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.txt"), []byte("v is ${v}"), 0o644); err != nil {
		t.Fatal(err)
	}
	kinds := []step.Kind{{Name: "echo", Version: "1", Args: []step.Attr{{Name: "text", Type: cty.String, Required: true}}, Outputs: []step.Output{{Name: "value", Type: cty.String}},
		New: func(args step.Args) (step.Step, error) {
			var a struct {
				Text string `cty:"text"`
			}
			err := args.Decode(&a)
			return runFunc(func(context.Context, *step.Env) (cache.Outputs, error) {
				text, err := json.Marshal(a.Text)
				return cache.Outputs{"value": {JSON: text}}, err
			}), err
		}}}
	var source strings.Builder
	source.WriteString("step \"echo\" \"v\" { text = \"1234\" }\nstep \"mix\" \"all\" {\n for_each = toset([\"a\", \"b\"])\n text = each.key\n}\n")
	written := slices.Sorted(func(yield func(string) bool) {
		for e := range idioms {
			if !yield(e) {
				return
			}
		}
	})
	for i, e := range written {
		e = strings.ReplaceAll(strings.ReplaceAll(e, "step.mix.all", "step.echo.all"), "V", "step.echo.v.value")
		fmt.Fprintf(&source, "step \"echo\" \"i%d\" { text = %s }\noutput \"i%d\" { value = step.echo.i%[1]d.value }\n", i, e, i)
	}
	text := strings.ReplaceAll(source.String(), `step "mix" "all"`, `step "echo" "all"`)
	e := engine.New(engine.Options{Options: config.Options{Kinds: step.NewRegistry(kinds...), Version: "0.1.0"}, Cache: memory.New(), Capacity: sched.Capacity{CPUs: 4}})
	for range 2 {
		p, diags := e.Parse(filepath.Join(dir, "p.hcl"), []byte(text), config.Inputs{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		res, diags := e.Apply(context.Background(), p, engine.ApplyOptions{})
		if diags.HasErrors() || res.Status != event.Ran {
			t.Fatal(diags, res)
		}
		for i, e := range written {
			if got := res.Outputs[i].Value; got != idioms[e] {
				t.Errorf("%s is %q, want %q", e, got, idioms[e])
			}
		}
	}
}
