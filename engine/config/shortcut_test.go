package config

import (
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

const shortcuts = `
variable "yes" { default = true }
locals { keys = toset(["a", "b", "c"]) }
step "source" "raw" {
  for_each = local.keys
  id       = each.key
}
step "split" "data" {
  for_each = local.keys
  raw      = step.source.raw[each.key].tree
  seed     = var.yes ? null : step.source.raw[each.key].count
}
step "split" "half" {
  for_each = toset(["b", "c"])
  raw      = var.yes ? step.source.raw[each.key].tree : null
  seed     = (step.source.raw[each.key].count)
  mode     = each.key == "b" ? null : "slow"
}
step "solve" "all" {
  for_each = local.keys
  data     = step.split.data[each.key].public
}
step "board" "all" {
  reports = values(step.solve.all)[*].submission
}
step "board" "each" {
  for_each = local.keys
  parts    = { one = step.solve.all[each.key].submission, "two" = step.split.data[each.key].public, one = step.split.data[each.key].rest }
}
step "board" "as_written" {
  for_each = local.keys
  parts    = { (each.key) = step.solve.all[each.key].submission, none = null }
}
step "board" "none" {
  reports = var.yes ? null : values(step.solve.all)[*].submission
}
`

// TestShortcuts sees that arguments are the same with and without shortcuts.
func TestShortcuts(t *testing.T) {
	g, diags := load(t, shortcuts, Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	x := expander{evaluator: g.eval, graph: g}
	found := 0
	for _, s := range g.Pipeline.Steps {
		found += len(x.shortcuts(s.expressions(), g.eval.blocks[s].instances))
	}
	if found != 8 {
		t.Errorf("%d arguments have a shortcut, want 8", found)
	}
	for _, inst := range g.Instances {
		scope := g.eval.scope(inst.Step.expressions())
		args, found, diags := g.eval.evaluateArgs(inst, nil, func() *hcl.EvalContext { return inst.context(scope) })
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for i, v := range args {
			if got := inst.args[i]; !got.RawEquals(v) || !got.Type().Equals(v.Type()) {
				t.Errorf("%s: %s is %#v, want %#v", inst.Addr, inst.Step.argNames[i], got, v)
			}
		}
		if want := dependsOn(found.origins); !slices.Equal(inst.consumes, want) {
			t.Errorf("%s: it consumes %v, want %v", inst.Addr, inst.consumes, want)
		}
	}
}

// TestShortcutRefuses sees that what is refused without a shortcut is refused with one.
func TestShortcutRefuses(t *testing.T) {
	for name, step := range map[string]string{
		"no such key":     "step \"split\" \"x\" {\n for_each = toset([\"d\"])\n raw = step.source.raw[each.key].tree\n}",
		"private":         "step \"solve\" \"x\" {\n for_each = local.keys\n data = step.source.raw[each.key].tree\n}",
		"private if":      "step \"solve\" \"x\" {\n for_each = local.keys\n data = step.split.data[each.key].public\n agent = var.yes ? null : step.source.raw[each.key].count\n}",
		"no such field":   "step \"board\" \"x\" {\n for_each = local.keys\n parts = { x = step.source.raw[each.key].leaf }\n}",
		"key of null":     "step \"board\" \"x\" {\n for_each = local.keys\n parts = { (null) = step.source.raw[each.key].tree }\n}",
		"null is missing": "step \"split\" \"x\" {\n for_each = local.keys\n raw = var.yes ? null : step.source.raw[each.key].tree\n}",
		"null of a list":  "step \"board\" \"x\" {\n note = var.yes ? null : values(step.solve.all)\n}",
	} {
		if _, diags := load(t, shortcuts+step, Inputs{}); !diags.HasErrors() {
			t.Errorf("%s: it is not refused", name)
		}
	}
}
