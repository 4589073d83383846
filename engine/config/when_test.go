package config

import (
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

const steered = `
variable "least" { default = 5 }
step "source" "raw" {
  for_each = toset(["a", "b"])
  id       = each.key
}
step "split" "data" {
  for_each = toset(["a", "b"])
  raw      = step.source.raw[each.key].tree
  when     = step.source.raw[each.key].count > var.least
}
step "solve" "run" {
  for_each = toset(["a", "b"])
  data     = step.split.data[each.key].public
}
step "board" "all" {
  reports = values(step.split.data)[*].public
}
step "board" "after" {
  note       = "waits"
  depends_on = [step.split.data]
}
`

// A condition is decided when what it reads is known. What reads only skipped steps is
// skipped; what reads some of a block gets the rest; what only waits is not.
func TestWhen(t *testing.T) {
	g, diags := load(t, steered, Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	at := map[string]int{}
	for i, inst := range g.Instances {
		at[inst.Addr.String()] = i
	}
	skip := func(address string) string {
		t.Helper()
		why, diags := g.Skip(at[address], false)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return why
	}
	if why := skip(`step.split.data["a"]`); why != "" {
		t.Errorf("undecided, skipped: %s", why)
	}
	if _, diags := g.Skip(at[`step.split.data["a"]`], true); !strings.Contains(errorsOf(diags), "not known") {
		t.Errorf("unknown at the end: %v", diags)
	}
	content := cache.Value{Ref: cache.Ref{Kind: cache.Tree, ID: digest.Of(nil)}}
	for key, n := range map[string]string{"a": "7", "b": "3"} {
		g.SetOutputs(at[`step.source.raw["`+key+`"]`], cache.Outputs{"tree": content, "count": {JSON: []byte(n)}})
	}
	for address, want := range map[string]string{`step.split.data["a"]`: "", `step.split.data["b"]`: "when is false (test.hcl:10)"} {
		if why := skip(address); why != want {
			t.Errorf("%s: %q, want %q", address, why, want)
		}
	}
	g.SetOutputs(at[`step.split.data["a"]`], cache.Outputs{"private": content, "public": content, "rest": content})
	for address, want := range map[string]string{`step.solve.run["a"]`: "", `step.solve.run["b"]`: `step.split.data["b"] is not there, which it reads`, "step.board.all": "", "step.board.after": ""} {
		if why := skip(address); why != want {
			t.Errorf("%s: %q, want %q", address, why, want)
		}
	}
	args, diags := g.Args(at["step.board.all"])
	if n := args.Get("reports").LengthInt(); diags.HasErrors() || n != 1 {
		t.Errorf("the board has %d reports: %v", n, diags)
	}
}

// A constant condition is decided before anything runs.
func TestWhenConstant(t *testing.T) {
	g, diags := load(t, "variable \"on\" { default = false }\nstep \"board\" \"b\" {\n  when = var.on\n}\n", Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if why, diags := g.Skip(0, false); why != "when is false (test.hcl:3)" || diags.HasErrors() {
		t.Errorf("%q, %v", why, diags)
	}
}

// Conditions have a value that is true or false, and say nothing to a step that its
// arguments could not say, by what they decide or by how many steps they leave.
func TestWhenMistakes(t *testing.T) {
	const secret = "step \"board\" \"secret\" {\n  reports = [step.source.raw[\"a\"].tree]\n}\n"
	when := func(kind, condition, more string) string {
		return steered + secret + "step \"" + kind + "\" \"x\" {\n  when = " + condition + "\n" + more + "}\n"
	}
	const private = `step.board.secret.table == "x"`
	solve := func(data, more string) string {
		return "step \"solve\" \"y\" {\n  data = " + data + "\n" + more + "}\n"
	}
	cond := when("split", private, "  for_each = toset([\"a\"])\n  raw = step.source.raw[\"a\"].tree\n")
	for _, tt := range []struct{ name, src, want string }{
		{"null", when("board", "null", ""), "when of step.board.x is null"},
		{"a number", when("board", "3", ""), "must be true or false, not number"},
		{"a list", when("board", "[true]", ""), "must be true or false, not tuple"},
		{"a secret", "variable \"s\" {\n  sensitive = true\n  default = \"hunter2\"\n}\n" + when("board", `var.s == "hunter2"`, ""), "Sensitive value"},
		{"itself", when("board", `step.board.x.table == ""`, ""), "in a cycle"},
		{"a step that is none", when("board", "step.board.y.table == 1", ""), "There is no step.board.y"},
		{"private for an untrusted step", when("solve", private, "  data = step.split.data[\"a\"].public\n"), "when of step.solve.x refers to output \"table\" of step.board.secret"},
		{"content for an untrusted step", when("solve", `step.source.raw["a"].tree != null`, "  data = step.split.data[\"a\"].public\n"), "is private"},
		{"a public output of a private condition", cond + solve(`step.split.x["a"].public`, ""), "is private"},
		{"how many a private condition leaves", cond + solve(`step.split.data["a"].public`, "  network { allow = [tostring(length(step.split.x))] }\n"), "is private"},
		{"which a private condition leaves", cond + solve(`step.split.data["a"].public`, "  network { allow = keys(step.split.x) }\n"), "is private"},
		{"the same by a local value", cond + "locals { n = [for k, s in step.split.x : k] }\n" + solve(`step.split.data["a"].public`, "  network { allow = local.n }\n"), "is private"},
	} {
		if _, diags := load(t, tt.src, Inputs{}); !strings.Contains(diags.Error()+errorsOf(diags), tt.want) || strings.Contains(errorsOf(diags), "hunter2") {
			t.Errorf("%s: %v, want %q", tt.name, diags, tt.want)
		}
	}
}

// A null that is known only later is an error of its step, with the place.
func TestWhenNullLater(t *testing.T) {
	g, diags := load(t, "step \"source\" \"s\" { id = \"a\" }\nstep \"board\" \"b\" {\n  when = step.source.s.count > 1\n}\nstep \"board\" \"c\" {\n  when = step.source.s.count == null ? null : true\n}\n", Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	g.SetOutputs(0, cache.Outputs{"tree": {}, "count": {JSON: []byte("null")}})
	for i, want := range map[int]string{1: "test.hcl:3", 2: "test.hcl:6"} {
		if _, diags := g.Skip(i, true); len(diags) == 0 || position(*diags[0].Subject) != want {
			t.Errorf("%s: %v", g.Instances[i].Addr, diags)
		}
	}
}
