package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

const conditional = `
variable "n" { default = 3 }
step "source" "raw" {
  for_each = toset(["a", "b"])
  id       = each.key
  precondition {
    condition     = var.n > 2 || each.key == "a"
    error_message = "n is ${var.n}, too small for ${each.key}"
  }
  postcondition {
    condition     = self.count > 5 && each.key != ""
    error_message = "${each.key} has ${self.count} rows"
  }
}
step "board" "b" {
  note = "fixed"
  precondition {
    condition     = alltrue([for s in step.source.raw : s.count > 6])
    error_message = "too few rows"
  }
}
`

// A precondition that is known is checked when the pipeline is expanded, any other when
// its step is decided. What conditions read runs first.
func TestConditions(t *testing.T) {
	if _, diags := load(t, conditional, Inputs{Assignments: []Assignment{{Text: "n=1"}}}); len(diags.Errs()) != 1 || !strings.Contains(diags.Error(), `Precondition of step.source.raw["b"]; n is 1, too small for b`) {
		t.Error(diags)
	}
	g, diags := load(t, conditional, Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	const a, b, board = 0, 1, 2
	if inst := g.Instances[board]; !slices.Equal(inst.Deps, []int{a, b}) || g.Known(board) {
		t.Fatalf("the board depends on %v, known is %v", inst.Deps, g.Known(board))
	}
	if _, diags := g.Args(board); diags.HasErrors() {
		t.Error(diags)
	}
	rows := func(n string) cache.Outputs {
		return cache.Outputs{"tree": {Ref: cache.Ref{Kind: cache.Tree, ID: digest.Of(nil)}}, "count": {JSON: []byte(n)}}
	}
	g.SetOutputs(a, rows("7"))
	g.SetOutputs(b, rows("6"))
	if diags := slices.Concat(g.Postconditions(a), g.Postconditions(b), g.Postconditions(board)); diags.HasErrors() {
		t.Error(diags)
	}
	if _, diags := g.Args(board); !strings.Contains(diags.Error(), "Precondition of step.board.b; too few rows") {
		t.Error(diags)
	}
	g.SetOutputs(b, rows("5"))
	if diags := g.Postconditions(b); !strings.Contains(diags.Error(), `Postcondition of step.source.raw["b"]; b has 5 rows`) {
		t.Error(diags)
	}
}

func TestConditionMistakes(t *testing.T) {
	const split = "step \"source\" \"s\" { id = \"a\" }\nstep \"split\" \"d\" { raw = step.source.s.tree }\n"
	rule := func(kind, condition string) string {
		return "step \"source\" \"x\" {\n  id = \"x\"\n  " + kind + " {\n    condition = " + condition + "\n    error_message = \"no\"\n  }\n}\n"
	}
	for _, tt := range []struct{ name, src, want string }{
		{"self before", rule("precondition", "self.count > 1"), "nothing called \"self\""},
		{"an output that is not there", rule("postcondition", "self.counts > 1"), `Did you mean "count"`},
		{"itself", rule("precondition", "step.source.x.count > 1"), "in a cycle"},
		{"no message", "step \"source\" \"x\" {\n  id = \"x\"\n  precondition { condition = true }\n}", "error_message"},
		{"no boolean", rule("precondition", "[1]"), "must be true or false"},
		{"null", rule("precondition", "null"), "must be true or false"},
		{"a secret", "variable \"s\" {\n  sensitive = true\n  default = \"hunter2\"\n}\n" + rule("precondition", `var.s == "x"`), "Sensitive value"},
		{"what an untrusted kind cannot read", split + "step \"solve\" \"r\" {\n  data = step.split.d.public\n  precondition {\n    condition = step.split.d.private != null\n    error_message = \"no\"\n  }\n}", "is private"},
		{"a huge value", rule("precondition", "length(range(10000000)) > 1"), "at most"},
	} {
		if _, diags := load(t, tt.src, Inputs{}); !strings.Contains(diags.Error()+errorsOf(diags), tt.want) || strings.Contains(errorsOf(diags), "hunter2") {
			t.Errorf("%s: %v", tt.name, diags)
		}
	}
}

func errorsOf(diags interface{ Errs() []error }) string {
	var all strings.Builder
	for _, err := range diags.Errs() {
		all.WriteString(err.Error() + "\n")
	}
	return all.String()
}
