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

// makingKinds has a kind "cook" whose argument dish is made by a step "fetch", and an
// untrusted kind "taste" whose argument course is made of its food by a step "serve" with
// a private output.
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
		step.Kind{Name: "serve", Version: "1", New: none,
			Args:    []step.Attr{{Name: "what", Type: cty.String}, {Name: "food", Type: step.ArtifactType, Required: true}},
			Outputs: []step.Output{artifactOut("dish", step.Public), artifactOut("recipe", step.Private)}},
		step.Kind{Name: "taste", Version: "1", New: none, Untrusted: true,
			Args: []step.Attr{{Name: "what", Type: cty.String}, {Name: "food", Type: step.ArtifactType}, {Name: "by", Type: cty.String, Default: cty.StringVal("eye")},
				{Name: "course", Type: cty.Object(map[string]cty.Type{"recipe": step.ArtifactType}), Served: true, Made: &step.Made{Kind: "serve", When: "by=tongue", Args: []string{"what", "food"}}}},
			Outputs: []step.Output{artifactOut("note", step.Inherit)}},
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
	const food = `step "cook" "f" { what = "soup" }
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
		{"one value, with content", food + `step "taste" "x" {
  for_each = { a = "tongue", b = "nose", c = "tongue", d = "eye" }
  what = "soup"
  food = step.cook.f.meal
  by   = each.value
}`, map[string]string{
			"step.cook.f": "", `step.serve.x["soup"]`: "step.cook.f", `step.taste.x["a"]`: `step.cook.f step.serve.x["soup"]`,
			`step.taste.x["b"]`: "step.cook.f", `step.taste.x["c"]`: `step.cook.f step.serve.x["soup"]`, `step.taste.x["d"]`: "step.cook.f",
		}},
		{"content of each", `step "cook" "f" {
  for_each = ["soup", "cake"]
  what = each.key
}
step "taste" "x" {
  for_each = { for p in setproduct(["soup", "cake"], range(2)) : "${p[0]}/${p[1]}" => p[0] }
  what = each.value
  food = step.cook.f[each.value].meal
  by   = "tongue"
}`, map[string]string{
			`step.cook.f["soup"]`: "", `step.cook.f["cake"]`: "",
			`step.serve.x["soup"]`: `step.cook.f["soup"]`, `step.serve.x["cake"]`: `step.cook.f["cake"]`,
			`step.taste.x["soup/0"]`: `step.cook.f["soup"] step.serve.x["soup"]`, `step.taste.x["soup/1"]`: `step.cook.f["soup"] step.serve.x["soup"]`,
			`step.taste.x["cake/0"]`: `step.cook.f["cake"] step.serve.x["cake"]`, `step.taste.x["cake/1"]`: `step.cook.f["cake"] step.serve.x["cake"]`,
		}},
		{"another value", food + `step "taste" "x" { by = "nose" }`, map[string]string{"step.cook.f": "", "step.taste.x": ""}},
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
		"different content": {`step "cook" "f" {
  for_each = ["soup", "cake"]
  what = each.key
}
step "taste" "x" {
  for_each = ["soup", "cake"]
  what = "a"
  food = step.cook.f[each.key].meal
  by   = "tongue"
}`, "but here they differ"},
		"private food": {`step "cook" "f" { what = "a" }
step "serve" "s" { food = step.cook.f.meal }
step "serve" "t" { food = step.serve.s.recipe }
step "taste" "x" { course = step.serve.t }`, "which is private"},
		"private content elsewhere": {`step "cook" "f" { what = "a" }
step "serve" "s" { food = step.cook.f.meal }
step "taste" "x" { food = step.serve.s.recipe }`, "which is private"},
	} {
		t.Run(name, func(t *testing.T) {
			_, diags := expandMade(t, tt.src)
			if !slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return strings.Contains(d.Detail, tt.want) }) {
				t.Errorf("%q is in none of: %v", tt.want, diags)
			}
		})
	}
}
