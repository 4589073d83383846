package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/addr"
)

const movable = `
agent "c" { command = ["mleflow"] }
agent "sweep" {
  command  = ["mleflow"]
  for_each = toset(["x", "y"])
}
model "m" {
  provider = "openai"
  models   = ["x"]
}
step "source" "raw" {
  for_each = toset(["a", "b"])
  id       = each.key
}
step "board" "one" {}
`

func moved(ends ...string) (src string) {
	for i := 0; i < len(ends); i += 2 {
		src += "moved {\n  from = " + ends[i] + "\n  to   = " + ends[i+1] + "\n}\n"
	}
	return src
}

// Moves that are not clear are refused, with the place of the end that is wrong. The rules
// are those of Terraform.
func TestMovedMistakes(t *testing.T) {
	for _, tt := range []struct{ name, src, want, at string }{
		{"cycle", moved("agent.a", "agent.b", "agent.b", "agent.a"), "agent.a moved to agent.b moved to agent.a", "agent.a"},
		{"both exist", moved("agent.c", "agent.sweep"), "agent.c is declared at test.hcl:2", "agent.c"},
		{"both steps exist", moved("step.board.one", "step.board.two"), "step.board.one is declared", "step.board.one"},
		{"another kind", moved("agent.a", "model.m"), "both must be of the same kind", "model.m"},
		{"another kind of step", moved("step.board.old", "step.source.raw"), "both must be of the same kind", "step.source.raw"},
		{"target missing", moved("agent.a", "agent.d"), `There is no agent.d. Did you mean "agent.c"?`, "agent.d"},
		{"two from one", moved("agent.a", "agent.c", "agent.a", "agent.sweep"), "moved already, to agent.c", "agent.a"},
		{"two to one", moved("agent.a", "agent.c", "agent.b", "agent.c"), "agent.a was moved to agent.c already", "agent.c"},
		{"itself", moved("agent.a", "agent.a"), "both from and to", "agent.a"},
		{"a kind that is none", moved("step.boord.a", "step.boord.b"), `There is no step kind "boord". Did you mean "board"?`, "step.boord.a"},
		{"in quotes", moved(`"agent.a"`, "agent.c"), "not in quotes", `"agent.a"`},
		{"an output", moved("agent.a.name", "agent.c"), "A moved block names", "agent.a.name"},
		{"a number as key", moved("agent.a[0]", "agent.c"), "A moved block names", "agent.a[0]"},
		{"a local", moved("local.a", "local.b"), "A moved block names", "local.a"},
		{"a call", moved(`agents("a")`, "agent.c"), "A moved block names", `agents("a")`},
		{"a key that exists", moved(`agent.sweep["x"]`, "agent.c"), "exists, so it was not moved", `agent.sweep["x"]`},
		{"a key that does not", moved("agent.a", `agent.sweep["z"]`), "no such key", `agent.sweep["z"]`},
		{"a step's key that does not", moved("step.source.old", `step.source.raw["z"]`), "no such key", `step.source.raw["z"]`},
		{"a key of a single agent", moved("agent.a", `agent.c["x"]`), "so it has no keys", `agent.c["x"]`},
		{"a missing key", moved(`agent.old["x"]`, "agent.sweep"), `agent.sweep["KEY"]`, "agent.sweep"},
		{"a module that is none", moved("module.a", "module.b"), "There is no module.b", "module.b"},
		{"a missing end", "moved {\n  from = agent.a\n}\n", `The argument "to" is required`, ""},
	} {
		src := movable + tt.src
		_, diags := load(t, src, Inputs{})
		if !strings.Contains(errorsOf(diags), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, diags, tt.want)
			continue
		}
		if at := diags[0].Subject; tt.at != "" && src[at.Start.Byte:at.End.Byte] != tt.at {
			t.Errorf("%s: at %q", tt.name, src[at.Start.Byte:at.End.Byte])
		}
	}
}

// What was moved has the names of its whole chain, the latest first, with its keys.
func TestFormer(t *testing.T) {
	g, diags := load(t, movable+moved("agent.a", "agent.b", "agent.b", "agent.c", "model.old", "model.m", "agent.grid", "agent.sweep",
		`agent.single`, `agent.grid["x"]`, "step.source.was", "step.source.raw", `step.source.was["z"]`, `step.source.was["b"]`, "step.board.before", "step.board.one"), Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p := g.Pipeline
	for _, tt := range []struct{ what, name, want string }{
		{"agent", "c", "b a"}, {"model", "m", "old"}, {"agent", "m", ""}, {"agent", "sweep[x]", "grid[x] single"}, {"agent", "sweep[y]", "grid[y]"}, {"agent", "other", ""},
	} {
		if got := strings.Join(p.FormerNames(tt.what, tt.name), " "); got != tt.want {
			t.Errorf("%s %s was %q, want %q", tt.what, tt.name, got, tt.want)
		}
	}
	for _, tt := range []struct{ address, want string }{
		{"step.board.one", "step.board.before"}, {`step.source.raw["a"]`, `step.source.was["a"]`}, {`step.source.raw["b"]`, `step.source.was["b"] step.source.was["z"]`},
	} {
		a, err := addr.Parse(tt.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(lists.Of(p.Former(a), addr.Instance.String), " "); got != tt.want {
			t.Errorf("%s was %q, want %q", tt.address, got, tt.want)
		}
	}
}

// A step keeps its former address when its module has another name, and a module may have
// moves of its own.
func TestMovedModule(t *testing.T) {
	files := map[string]string{"m/a.hcl": "step \"board\" \"new\" {}\n" + moved("step.board.old", "step.board.new")}
	g, diags := loadModular(modular(t, "module \"now\" { source = \"../m\" }\n"+moved("module.then", "module.now", "step.board.root", "step.board.now.old"), files), Options{Kinds: testKinds()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	got := lists.Of(g.Pipeline.Former(g.Instances[0].Addr), addr.Instance.String)
	slices.Sort(got)
	if want := "step.board.now.old step.board.root step.board.then.new step.board.then.old"; strings.Join(got, " ") != want {
		t.Errorf("was %s, want %s", got, want)
	}
}
