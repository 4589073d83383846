package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/step"
)

// agentImage is a pipeline whose agent's image is an output of another step.
func agentImage(output string) string {
	return `
step "source" "raw" { id = "a" }
step "split" "data" { raw = step.source.raw.tree }
step "split" "image" { raw = step.source.raw.tree }
agent "a" {
  command = ["true"]
  image   = step.split.image.` + output + `
}
step "solve" "x" {
  data  = step.split.data.public
  agent = agent["a"]
}
`
}

// TestAgentImageOfStep sees that a step is done before the agent whose image it
// makes runs, and that the agent gets its output.
func TestAgentImageOfStep(t *testing.T) {
	g, diags := load(t, agentImage("public"), Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	last := len(g.Instances) - 1
	var deps []string
	for _, d := range g.Instances[last].Deps {
		deps = append(deps, g.Instances[d].Addr.String())
	}
	slices.Sort(deps)
	if got := strings.Join(deps, " "); got != "step.split.data step.split.image" {
		t.Errorf("depends on %s", got)
	}
	want := digest.Of([]byte("image"))
	for i, inst := range g.Instances[:last] {
		ref := cache.Ref{ID: digest.Of(nil)}
		if inst.Addr.String() == "step.split.image" {
			ref.ID = want
		}
		g.SetOutputs(i, cache.Outputs{"tree": {Ref: ref}, "public": {Ref: ref}, "private": {Ref: ref}, "rest": {Ref: ref}, "count": {JSON: []byte("1")}})
	}
	args, diags := g.Args(last)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	agent := args.Get("agent")
	built := agent.GetAttr("built")
	if built.IsNull() || built.EncapsulatedValue().(*step.Artifact).Ref.ID != want || !agent.GetAttr("image").RawEquals(cty.StringVal("")) {
		t.Errorf("the agent is %#v", agent)
	}
}

// TestAgentImagePrivate sees that an image made of private data is refused.
func TestAgentImagePrivate(t *testing.T) {
	for _, output := range []string{"private", "rest"} {
		_, diags := load(t, agentImage(output), Inputs{})
		if text := diags.Error(); !diags.HasErrors() || !strings.Contains(text, "Private output") {
			t.Errorf("%s: %v", output, text)
		}
	}
}

// TestAgentNull sees that null is as if the argument were not written, and that
// the command must be.
func TestAgentNull(t *testing.T) {
	const pipeline = `
variable "contained" { default = false }
step "source" "raw" { id = "a" }
step "split" "data" { raw = step.source.raw.tree }
agent "a" {
  command = ["true"]
  image   = var.contained ? "local:x" : null
  secrets = null
}
step "solve" "x" {
  data  = step.split.data.public
  agent = agent["a"]
}
`
	for contained, want := range map[string]string{"false": "", "true": "local:x"} {
		g, diags := load(t, pipeline, Inputs{Environ: []string{"MLEFLOW_VAR_contained=" + contained}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for i := range g.Instances[:len(g.Instances)-1] {
			ref := cache.Ref{ID: digest.Of(nil)}
			g.SetOutputs(i, cache.Outputs{"tree": {Ref: ref}, "public": {Ref: ref}, "private": {Ref: ref}, "rest": {Ref: ref}, "count": {JSON: []byte("1")}})
		}
		args, diags := g.Args(len(g.Instances) - 1)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		agent := args.Get("agent")
		if got := agent.GetAttr("image"); !got.RawEquals(cty.StringVal(want)) || agent.GetAttr("secrets").LengthInt() != 0 {
			t.Errorf("contained = %s: the agent is %#v", contained, agent)
		}
	}
	_, diags := load(t, strings.Replace(pipeline, `["true"]`, "null", 1), Inputs{})
	if text := diags.Error(); !strings.Contains(text, "command of an agent must not be empty") {
		t.Error(text)
	}
}
