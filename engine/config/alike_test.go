package config

import (
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

// shapes is a pipeline whose instances share arguments in several ways.
const shapes = `
locals {
  ids  = ["a", "b", "s1:", "1"]
  runs = { for r in setproduct(local.ids, range(3)) : "${r[0]}/${r[1]}" => { id = r[0], seed = r[1], note = { text = r[0] } } }
}
agent "x" { command = ["x"] }
agent "y" { command = ["y"] }
step "source" "s" {
  for_each = toset(local.ids)
  id       = each.key
}
step "split" "d" {
  for_each = local.runs
  raw      = step.source.s[each.value.id].tree
  seed     = each.value.seed
  mode     = each.value.id == "a" ? "fast" : null
  timeout  = each.value.id == "a" ? "1h" : "2h"
}
step "solve" "r" {
  for_each = local.runs
  data     = step.split.d[each.key].public
  agent    = { a = agent.x, b = agent.y, "s1:" = agent.x, "1" = agent.y }[each.value.id]
  resources { cpus = 2 }
  network { allow = ["${each.value.id}.org:${each.value.seed}"] }
}
step "board" "b" {
  for_each = local.runs
  reports  = [for key, r in local.runs : step.solve.r[key].submission if r.id == each.value.id]
  note     = each.value.note.text
}
`

// TestAlikeIsOwn compares the arguments and dependencies that instances share with
// those that each has when it is evaluated by itself.
func TestAlikeIsOwn(t *testing.T) {
	g, diags := load(t, shapes, Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, inst := range g.Instances {
		scope := g.eval.scope(inst.Step.expressions())
		alone := &Instance{Step: inst.Step, Addr: inst.Addr, each: inst.each}
		args, found, diags := g.eval.evaluateArgs(alone, nil, func() *hcl.EvalContext { return inst.context(scope) })
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for i, v := range args {
			if !v.RawEquals(inst.args[i]) {
				t.Errorf("%s: argument %d is %#v, want %#v", inst.Addr, i, inst.args[i], v)
			}
		}
		if deps := dependsOn(found.origins); !slices.Equal(deps, inst.Deps) || (found.private != "") != inst.Private {
			t.Errorf("%s: depends on %v, private %v; want %v, %v", inst.Addr, inst.Deps, inst.Private, deps, found.private)
		}
	}
}

// TestAlikeErrors checks that each instance with a wrong argument is named.
func TestAlikeErrors(t *testing.T) {
	const src = `
step "source" "s" { id = "a" }
step "solve" "r" {
  for_each = { for i in range(3) : "k${i}" => { id = "a", seed = i } }
  data     = { a = step.source.s.tree }[each.value.id]
}`
	_, diags := load(t, src, Inputs{})
	if len(diags) != 6 { // two places for each instance
		t.Errorf("%d diagnostics: %v", len(diags), diags)
	}
}
