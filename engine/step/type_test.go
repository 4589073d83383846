package step_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/step"
)

func TestTypeOf(t *testing.T) {
	type word string
	type inner struct {
		Content *step.Artifact  `json:"content"`
		Key     *step.SecretRef `json:"key,omitempty"`
		Hidden  chan int        `json:"-"`
		Other   chan int
	}
	type outer struct {
		Word  word                      `json:"word"`
		Count *int64                    `json:"renamed" cty:"count"`
		Flag  bool                      `cty:"flag"`
		Files map[string]*step.Artifact `cty:"files"`
		Lists [][]string                `cty:"lists"`
		Inner []inner                   `cty:"inner"`
		Maybe float64                   `cty:"maybe" optional:"true"`
	}
	want := map[string]cty.Type{
		"word": cty.String, "count": cty.Number, "flag": cty.Bool, "files": cty.Map(step.ArtifactType), "lists": cty.List(cty.List(cty.String)),
		"inner": cty.List(cty.Object(map[string]cty.Type{"content": step.ArtifactType, "key": step.SecretRefType})), "maybe": cty.Number,
	}
	got := step.TypeOf[outer]()
	if !got.WithoutOptionalAttributesDeep().Equals(cty.Object(want)) || !got.AttributeOptional("maybe") || got.AttributeOptional("flag") {
		t.Errorf("type %#v", got)
	}
	small := step.TypeOf[struct {
		A string `cty:"a"`
		B string `cty:"b" optional:"true"`
	}]()
	if v, err := convert.Convert(cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("x")}), small); err != nil || !v.GetAttr("b").IsNull() {
		t.Errorf("without an optional attribute: %#v, %v", v, err)
	}
	if _, err := convert.Convert(cty.ObjectVal(map[string]cty.Value{"b": cty.StringVal("x")}), small); err == nil {
		t.Error("an attribute that is not optional may be missing")
	}
	defer func() {
		if recover() == nil {
			t.Error("a channel has a type in the language")
		}
	}()
	step.TypeOf[chan int]()
}
