package step_test

import (
	"math"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/step"
)

// every has an argument of every sort.
var every = &step.Kind{
	Name: "every", Version: "1", LimitsInKey: true,
	Args: []step.Attr{
		{Name: "text", Type: cty.String}, {Name: "absent", Type: cty.String}, {Name: "number", Type: cty.Number}, {Name: "flag", Type: cty.Bool},
		{Name: "set", Type: cty.Set(cty.String)}, {Name: "data", Type: step.ArtifactType}, {Name: "none", Type: step.ArtifactType},
		{Name: "files", Type: cty.Map(step.ArtifactType)}, {Name: "list", Type: cty.List(step.ArtifactType)}, {Name: "any", Type: cty.DynamicPseudoType},
		{Name: "key", Type: step.SecretRefType}, {Name: "object", Type: cty.Object(map[string]cty.Type{"a": cty.String, "b": step.ArtifactType})},
	},
	Blocks: []step.Block{{Name: "written", Args: []step.Attr{{Name: "n", Type: cty.Number}}}, {Name: "missing", Args: []step.Attr{{Name: "n", Type: cty.Number}}}},
}

func content(name string) cty.Value {
	return step.NewArtifact(&step.Artifact{From: "step.a.b", Output: name, Conditions: []string{"x=y"}, Ref: cache.Ref{Kind: cache.Tree, ID: digest.Of([]byte(name)), Size: 5, Files: 2}})
}

func everyArg() step.Args {
	args := step.ArgsOf(cty.ObjectVal(map[string]cty.Value{
		"text": cty.StringVal("<é\x00\u2028>"), "absent": cty.NullVal(cty.String), "number": cty.MustParseNumberVal("0.1000000000000000055511151231257827"), "flag": cty.False,
		"set": cty.SetVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a")}), "data": content("tree"), "none": cty.NullVal(cty.DynamicPseudoType),
		"files": cty.MapVal(map[string]cty.Value{"f": content("f")}), "list": cty.ListVal([]cty.Value{content("tree"), content("g")}),
		"any": cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.StringVal("x")}), "key": cty.CapsuleVal(step.SecretRefType, &step.SecretRef{Ref: "env:KEY"}),
		"object":  cty.ObjectVal(map[string]cty.Value{"a": cty.NullVal(cty.String), "b": content("h")}),
		"written": cty.ObjectVal(map[string]cty.Value{"n": cty.NumberIntVal(3)}), "missing": cty.NullVal(cty.Object(map[string]cty.Type{"n": cty.Number})),
	}))
	args.Limits, args.Conditions = step.Limits{CPUs: 1.5, MemoryBytes: math.MaxInt64, GPUs: 2, Timeout: 1}, []string{"isolation=none"}
	return args
}

func keyOf(t *testing.T, args step.Args) digest.ActionID {
	t.Helper()
	h, err := step.Key(every, args, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h.Sum()
}

func TestArgumentsSurviveTheirEncoding(t *testing.T) {
	args := everyArg()
	data, err := every.EncodeArgs(args)
	if err != nil {
		t.Fatal(err)
	}
	got, err := every.DecodeArgs(data)
	if err != nil {
		t.Fatal(err)
	}
	if keyOf(t, got) != keyOf(t, args) {
		t.Errorf("another key: %s", data)
	}
	again, err := every.EncodeArgs(got)
	if err != nil || string(again) != string(data) {
		t.Errorf("%v\n%s\n%s", err, data, again)
	}
	if refs := got.Refs(); len(refs) != 4 || len(args.Refs()) != 4 {
		t.Errorf("content %v", refs)
	}
	if ref := got.Get("key").EncapsulatedValue().(*step.SecretRef).Ref; ref != "env:KEY" {
		t.Errorf("secret reference %q", ref)
	}
	if !got.Get("absent").IsNull() || !got.Get("missing").IsNull() || !got.Get("none").IsNull() {
		t.Error("null is no longer null")
	}
}

func TestArgumentsOfAnotherKind(t *testing.T) {
	data, err := every.EncodeArgs(everyArg())
	if err != nil {
		t.Fatal(err)
	}
	for was, is := range map[string]string{`"text":`: `"texts":`, `"written":`: `"wrote":`, `"flag":false`: `"flag":[1]`, `"kind":"tree"`: `"kind":"twig"`} {
		if _, err := every.DecodeArgs([]byte(strings.Replace(string(data), was, is, 1))); err == nil {
			t.Errorf("%s instead of %s is accepted", is, was)
		}
	}
	object := everyArg().Object().AsValueMap()
	object["data"] = step.NewArtifact(&step.Artifact{From: "step.a.b", Output: "tree"})
	if _, err := every.EncodeArgs(step.ArgsOf(cty.ObjectVal(object))); err == nil {
		t.Error("content that is not known is encoded")
	}
}
