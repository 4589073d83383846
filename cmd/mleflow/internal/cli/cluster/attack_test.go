package cluster

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
)

// TestRobbed puts a thief in the place of an agent: he has its models, variables and packages,
// and none of its keys and secrets.
func TestRobbed(t *testing.T) {
	packages := step.NewArtifact(&step.Artifact{Ref: cache.Ref{Size: 1}})
	model := func(name, key string) cty.Value {
		ref := cty.NullVal(step.SecretRefType)
		if key != "" {
			ref = cty.CapsuleVal(step.SecretRefType, &step.SecretRef{Ref: key})
		}
		return cty.ObjectVal(map[string]cty.Value{
			"name": cty.StringVal(name), "provider": cty.StringVal("anthropic"), "base_url": cty.StringVal("https://api.example"), "key": ref,
			"replay": cty.ListVal([]cty.Value{packages}), "on_miss": cty.StringVal("live"),
		})
	}
	agent := func(python cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{
			"name": cty.StringVal("mine"), "models": cty.ListVal([]cty.Value{model("paid", "env:REAL_KEY"), model("local", "")}),
			"secrets": cty.MapVal(map[string]cty.Value{"HF_TOKEN": cty.StringVal("env:REAL_TOKEN")}), "env": cty.MapVal(map[string]cty.Value{"STYLE": cty.StringVal("plain")}),
			"python": python, "built": cty.NullVal(step.ArtifactType), "files": cty.MapVal(map[string]cty.Value{"a.py": packages}),
		})
	}
	thiefs := step.ArgsOf(cty.ObjectVal(map[string]cty.Value{"agent": cty.ObjectVal(map[string]cty.Value{"models": cty.EmptyTupleVal}), "env": cty.NullVal(cty.Map(cty.String)), "seed": cty.NumberIntVal(3)}))
	var r room
	r.agent, r.env = r.known(agent(packages)), r.known(cty.MapVal(map[string]cty.Value{"MORE": cty.StringVal("1")}))
	got := r.robbed(thiefs)
	for want, at := range map[string][]string{
		"env:" + breach.SecretVariable: {"agent", "secrets", "HF_TOKEN"}, "plain": {"agent", "env", "STYLE"}, "1": {"env", "MORE"}, "3": {"seed"}, "mine": {"agent", "name"},
	} {
		if text := got.Text(at[0], at[1:]...); text != want {
			t.Errorf("%s is %q, want %q", strings.Join(at, "."), text, want)
		}
	}
	place := got.Get("agent")
	if !place.GetAttr("python").RawEquals(packages) || place.GetAttr("files").LengthInt() > 0 || len(r.lacks) > 0 {
		t.Errorf("%#v, lacks %v", place, r.lacks)
	}
	for i, key := range []string{"env:" + breach.KeyVariable, ""} {
		m := place.GetAttr("models").Index(cty.NumberIntVal(int64(i)))
		ref := ""
		if k := m.GetAttr("key"); !k.IsNull() {
			ref = k.EncapsulatedValue().(*step.SecretRef).Ref
		}
		if ref != key || m.GetAttr("provider").AsString() != "anthropic" || m.GetAttr("base_url").AsString() != "http://127.0.0.1:9/v1" || m.GetAttr("replay").LengthInt() > 0 {
			t.Errorf("model %d has the key %q: %#v", i, ref, m)
		}
	}
	r = room{}
	r.agent = r.known(agent(step.NewArtifact(&step.Artifact{})))
	if len(r.lacks) != 1 || r.lacks[0] != "python" || !r.part("python").IsNull() {
		t.Errorf("packages that nobody has made: lacks %v", r.lacks)
	}
	if none := (*room)(nil).robbed(thiefs); none.Text("seed") != "3" {
		t.Error("without a place the arguments change")
	}
}
