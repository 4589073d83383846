package config

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/step"
)

// agree compares the arguments that are given quickly with what the language says
// of them, and returns how many there are by the name of the argument.
func agree(t *testing.T, g *Graph) map[string]int {
	t.Helper()
	given := map[string]int{}
	compare := func(inst *Instance, attrs []step.Attr, exprs map[string]hcl.Expression) {
		for _, a := range attrs {
			e := exprs[a.Name]
			if e == nil || a.Files || !refersToEach(e) {
				continue
			}
			q := g.quickly(e, a.Type)
			if q == nil {
				continue
			}
			marks := map[any]struct{}{}
			v, ok := q(inst, marks)
			if !ok {
				continue
			}
			given[a.Name]++
			want, diags := g.evaluate(e, inst.context(g.scope(inst.Step.expressions())))
			if diags.HasErrors() {
				t.Errorf("%s of %s is %#v, but the language refuses it: %v", a.Name, inst.Addr, v, diags)
				continue
			}
			wantMarks := map[any]struct{}{}
			want, err := convert.Convert(unmark(want, wantMarks), a.Type)
			if err != nil {
				t.Errorf("%s of %s is %#v, but the language's value has the wrong type: %v", a.Name, inst.Addr, v, err)
				continue
			}
			if !v.RawEquals(want) || !maps.Equal(marks, wantMarks) {
				t.Errorf("%s of %s is %#v with marks %v, in the language %#v with %v", a.Name, inst.Addr, v, marks, want, wantMarks)
			}
		}
	}
	for _, inst := range g.Instances {
		if !inst.Addr.HasKey {
			continue
		}
		compare(inst, inst.Step.Kind.Args, inst.Step.Args)
		for _, b := range inst.Step.Kind.Blocks {
			compare(inst, b.Args, inst.Step.Blocks[b.Name])
		}
	}
	return given
}

func quickKinds() *step.Registry {
	var args []step.Attr
	for name, ty := range map[string]cty.Type{
		"text": cty.String, "list": cty.List(cty.String), "env": cty.Map(cty.String),
		"one": step.ArtifactType, "all": cty.List(step.ArtifactType), "inputs": cty.Map(step.ArtifactType),
	} {
		args = append(args, step.Attr{Name: name, Type: ty})
	}
	return step.NewRegistry(step.Kind{
		Name: "mix", Version: "1", Args: args, New: func(step.Args) (step.Step, error) { return nil, nil },
		Outputs: []step.Output{artifactOut("tree", step.Public), {Name: "count", Type: cty.Number}},
	})
}

const quickSource = `
variable "hidden" {
  type      = string
  default   = "s"
  sensitive = true
}
locals {
  keys = toset(["a", "b", "e\u0301", "\u00e9"])
  map  = { a = { x = "1", y = null, z = 3 }, b = { x = var.hidden, y = "y", z = 4 } }
}
step "mix" "first" {
  for_each = local.keys
  text     = each.key
}
step "mix" "map" {
  for_each = local.map
  %s
}
step "mix" "set" {
  for_each = local.keys
  %s
}
`

func TestQuickArguments(t *testing.T) {
	for _, c := range []struct {
		in, arg string
		// given is for how many of the two or three instances the language is not needed;
		// -1 is an error.
		given int
	}{
		{"set", `text = each.key`, 3},
		{"set", `text = each.value`, 3},
		{"set", `text = each["key"]`, 3},
		{"set", `text = "${each.key}"`, 3},
		{"set", `text = (each.key)`, 3},
		{"set", `text = "a ${each.key} %%{ if true }b%%{ endif }"`, 0},
		{"set", `text = "a ${each.key}\u0301 ${each.value}"`, 3},
		{"set", `text = "${each.key}${1}"`, 0},
		{"set", `text = upper(each.key)`, 0},
		{"set", `text = each.key == "a" ? "x" : "y"`, 0},
		{"set", `list = [each.key, "b", "c ${each.key}"]`, 3},
		{"set", `list = [each.key, 1]`, 0},
		{"set", `env = { A = each.key, "B" = "b", (each.key) = "c" }`, 0},
		{"set", `env = { A = each.key, "B" = "b", e\u0301 = "c" }`, -1},
		{"set", `env = { A = each.key, "B" = "b" }`, 3},
		{"set", `env = { A = each.key, A = "b" }`, 0},
		{"set", `env = { A = each.key, B = null }`, 0},
		{"set", `one = step.mix.first[each.key].tree`, 3},
		{"set", `one = step.mix.first["${each.value}"].tree`, 3},
		{"set", `one = step.mix.first[each.key]["tree"]`, 0},
		{"set", `one = step.mix.first["x${each.key}"].tree`, -1},
		{"set", `text = step.mix.first[each.key].tree`, -1},
		{"set", `text = step.mix.first[each.key].count`, 0},
		{"set", `all = [step.mix.first[each.key].tree, step.mix.first[each.value].tree]`, 3},
		{"set", `inputs = { a = step.mix.first[each.key].tree, b = step.mix.first[each.key].tree }`, 3},
		{"set", `inputs = { a = step.mix.first[each.key].tree, b = step.mix.first["a"].tree }`, 0},
		{"set", `inputs = { a = step.mix.first["z${each.key}"].tree }`, -1},
		{"map", `text = each.key`, 2},
		{"map", `text = each.value`, -1},
		{"map", `text = each.value.x`, -1},
		{"map", `text = each.value.y`, 1},
		{"map", `text = each.value.z`, 0},
		{"map", `one = step.mix.first[each.key].tree`, 2},
		{"map", `env = { A = each.value.y, B = "b" }`, 1},
	} {
		args := map[string]string{c.in: c.arg}
		p, diags := Parse("test.hcl", fmt.Appendf(nil, quickSource, args["map"], strings.ReplaceAll(args["set"], "%%", "%")), Options{Kinds: quickKinds(), Version: "0.1.0"})
		if diags.HasErrors() {
			if c.given >= 0 {
				t.Errorf("%s: %v", c.arg, diags)
			}
			continue
		}
		values, _ := p.Values(Inputs{})
		g, diags := p.Expand(values)
		if diags.HasErrors() != (c.given < 0) {
			t.Errorf("%s: %v", c.arg, diags)
		}
		name, _, _ := strings.Cut(c.arg, " ")
		got := agree(t, g)[name]
		if name == "text" {
			got -= 3 // of the first block
		}
		if c.given >= 0 && got != c.given {
			t.Errorf("%s is given quickly for %d instances, want %d", c.arg, got, c.given)
		}
	}
}
