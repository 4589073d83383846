package app

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
)

// TestFacts compares the function with what the definition files say.
func TestFacts(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	facts := competitionFunctions(catalog)["competition"]
	for id, want := range map[string]map[string]cty.Value{
		"leaf-classification": {"title": cty.StringVal("Leaf Classification"), "category": cty.StringVal("image-classification"), "complexity": cty.StringVal("low"),
			"modality": cty.StringVal("image"), "metric": cty.StringVal("multi-class-log-loss"), "lower_is_better": cty.True, "size_gb": cty.MustParseNumberVal("0.036"), "teams": cty.NumberIntVal(1596)},
		"chaii-hindi-and-tamil-question-answering": {"modality": cty.StringVal("text")}, "ventilator-pressure-prediction": {"modality": cty.StringVal("tabular")},
		"mlsp-2013-birds": {"modality": cty.StringVal("audio")}, "siim-covid19-detection": {"modality": cty.StringVal("image")},
	} {
		got, err := facts.Call([]cty.Value{cty.StringVal(id)})
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range want {
			if !got.GetAttr(name).RawEquals(v) {
				t.Errorf("%s: %s is %#v, want %#v", id, name, got.GetAttr(name), v)
			}
		}
	}
	if v, err := facts.Call([]cty.Value{cty.StringVal("leaf-clasification")}); err == nil || !strings.Contains(err.Error(), `did you mean "leaf-classification"`) {
		t.Errorf("a competition that is not there: %#v, %v", v, err)
	}
	for _, id := range catalog.IDs() { // every category of ours is one that Modality knows
		if got, err := facts.Call([]cty.Value{cty.StringVal(id)}); err != nil || got.GetAttr("modality").AsString() == "other" && got.GetAttr("category").AsString() != "" {
			t.Errorf("%s: %#v, %v", id, got, err)
		}
	}
}
