package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// makingKinds has a kind "cook" whose argument dish is made by a step "fetch".
func makingKinds() *step.Registry {
	none := func(step.Args) (step.Step, error) { return nil, nil }
	return step.NewRegistry(
		step.Kind{Name: "fetch", Version: "1", New: none,
			Args:    []step.Attr{{Name: "what", Type: cty.String, Required: true}, {Name: "how", Type: cty.String}},
			Outputs: []step.Output{artifactOut("text", step.Public), artifactOut("more", step.Public)}},
		step.Kind{Name: "cook", Version: "1", New: none,
			Args: []step.Attr{{Name: "what", Type: cty.String, Required: true}, {Name: "how", Type: cty.String, Default: cty.StringVal("raw")}, {Name: "seed", Type: cty.Number},
				{Name: "dish", Type: cty.Object(map[string]cty.Type{"text": step.ArtifactType}), Made: &step.Made{Kind: "fetch", When: "how", Args: []string{"what", "how"}}}},
			Outputs: []step.Output{artifactOut("meal", step.Inherit)}},
	)
}

func expandMade(t *testing.T, src string) (*Graph, diag.List) {
	t.Helper()
	p, diags := Parse("test.hcl", []byte(src), Options{Kinds: makingKinds(), Version: "0.1.0"})
	if diags.HasErrors() {
		return nil, diags
	}
	values, diags := p.Values(Inputs{})
	if diags.HasErrors() {
		return nil, diags
	}
	return p.Expand(values)
}

// TestMadeSteps lists what each step depends on.
func TestMadeSteps(t *testing.T) {
	const many = `
locals { runs = { for p in setproduct(["a", "b"], range(2)) : "${p[0]}/${p[1]}" => { what = p[0], seed = p[1] } } }
variable "how" { default = "fried" }
step "cook" "x" {
  for_each = local.runs
  what     = each.value.what
  seed     = each.value.seed
`
	tests := []struct {
		name, src string
		want      map[string]string
	}{
		{"one", `step "cook" "x" {
  what = "a"
  how  = "fried"
}`, map[string]string{`step.fetch.x["a/fried"]`: "", "step.cook.x": `step.fetch.x["a/fried"]`}},
		{"not asked for", `step "cook" "x" { what = "a" }`, map[string]string{"step.cook.x": ""}},
		{"the default", `step "cook" "x" {
  what = "a"
  how  = "raw"
}`, map[string]string{"step.cook.x": ""}},
		{"written", `step "fetch" "f" { what = "a" }
step "cook" "x" {
  what = "a"
  how  = "fried"
  dish = step.fetch.f
}`, map[string]string{"step.fetch.f": "", "step.cook.x": "step.fetch.f"}},
		{"each combination once", many + "how = var.how\n}", map[string]string{
			`step.fetch.x["a/fried"]`: "", `step.fetch.x["b/fried"]`: "",
			`step.cook.x["a/0"]`: `step.fetch.x["a/fried"]`, `step.cook.x["a/1"]`: `step.fetch.x["a/fried"]`,
			`step.cook.x["b/0"]`: `step.fetch.x["b/fried"]`, `step.cook.x["b/1"]`: `step.fetch.x["b/fried"]`,
		}},
		{"of a list", `step "cook" "x" {
  for_each = ["fried", "baked"]
  what = "a"
  how  = each.key
}`, map[string]string{
			`step.fetch.x["a/fried"]`: "", `step.fetch.x["a/baked"]`: "",
			`step.cook.x["fried"]`: `step.fetch.x["a/fried"]`, `step.cook.x["baked"]`: `step.fetch.x["a/baked"]`,
		}},
		{"of nothing", `step "cook" "x" {
  for_each = toset([])
  what = each.key
  how  = "fried"
}`, map[string]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, diags := expandMade(t, tt.src)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			got := map[string]string{}
			for _, inst := range g.Instances {
				var deps []string
				for _, d := range inst.Deps {
					deps = append(deps, g.Instances[d].Addr.String())
				}
				got[inst.Addr.String()] = strings.Join(deps, " ")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMadeStepMistakes(t *testing.T) {
	for name, tt := range map[string]struct{ src, want string }{
		"taken": {`step "fetch" "x" { what = "a" }
step "cook" "x" {
  what = "a"
  how  = "fried"
}`, "Write dish = step.fetch.x"},
		"not known": {`step "cook" "y" { what = "a" }
step "cook" "x" {
  what = step.cook.y.meal
  how  = "fried"
}`, "known before anything runs"},
		"wrong": {`step "cook" "x" {
  what = var.nothing
  how  = "fried"
}`, "no variable"},
	} {
		t.Run(name, func(t *testing.T) {
			_, diags := expandMade(t, tt.src)
			if !slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return strings.Contains(d.Detail, tt.want) }) {
				t.Errorf("%q is in none of: %v", tt.want, diags)
			}
		})
	}
}
