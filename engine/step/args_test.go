package step_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
)

func TestDecodeNullArtifact(t *testing.T) {
	content := &step.Artifact{From: "step.a.b", Output: "tree"}
	args := step.ArgsOf(cty.ObjectVal(map[string]cty.Value{
		"absent": cty.NullVal(step.ArtifactType), "given": step.NewArtifact(content),
		"name":  cty.NullVal(cty.String),
		"block": cty.ObjectVal(map[string]cty.Value{"data": cty.NullVal(step.ArtifactType)}),
		"none":  cty.NullVal(cty.Object(map[string]cty.Type{"data": step.ArtifactType})),
	}))
	type block struct {
		Data *step.Artifact `cty:"data"`
	}
	var dst struct {
		Absent *step.Artifact `cty:"absent"`
		Given  *step.Artifact `cty:"given"`
		Name   *string        `cty:"name"`
		Block  *block         `cty:"block"`
		None   *block         `cty:"none"`
	}
	if err := args.Decode(&dst); err != nil {
		t.Fatal(err)
	}
	if dst.Absent != nil || dst.Given == nil || dst.Given.From != content.From || dst.Given.Output != content.Output || dst.Name != nil || dst.Block == nil || dst.Block.Data != nil || dst.None != nil {
		t.Errorf("decoded %+v", dst)
	}
}
