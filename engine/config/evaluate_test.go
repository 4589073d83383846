package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestEvaluateArguments refuses arguments of an evaluate block that may not be stored, are
// not known before anything runs, or have no sense.
func TestEvaluateArguments(t *testing.T) {
	const src = `
variable "secret" {
  default   = "any_medal"
  sensitive = true
}
step "source" "raw" {
  for_each = toset(["a"])
  id       = each.key
}
evaluate "agents" {
  agents = %s
  over   = step.source.raw
  budget = %s
  decide = %s
}`
	for _, tt := range []struct{ agents, budget, decide, want string }{
		{`["a", "b"]`, `4`, `"any_medal"`, ""},
		{`["a", "a"]`, `4`, `"any_medal"`, "compares two different agents"},
		{`null`, `4`, `"any_medal"`, "compares two different agents"},
		{`"a"`, `4`, `"any_medal"`, "agents must be a list of string."},
		{`["a", "b"]`, `1`, `"any_medal"`, "1 attempts are too few"},
		{`["a", "b"]`, `null`, `"any_medal"`, "null value is not allowed"},
		{`["a", "b"]`, `step.source.raw["a"].count`, `"any_medal"`, "budget depends on the result of a step"},
		{`["a", "b"]`, `4`, `var.secret`, "decide would be stored and shown. Use a value that is not sensitive."},
	} {
		_, diags := load(t, fmt.Sprintf(src, tt.agents, tt.budget, tt.decide), Inputs{})
		got := ""
		if diags.HasErrors() {
			got = diags[0].Detail
		}
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("agents %s, budget %s, decide %s: %q, want %q", tt.agents, tt.budget, tt.decide, got, tt.want)
		}
	}
}
