package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
)

// TestAgents gathers agents from whatever holds them, and keeps marks where they are.
func TestAgents(t *testing.T) {
	one := func(name string) cty.Value {
		attrs := map[string]cty.Value{}
		for attr, ty := range step.AgentType.AttributeTypes() {
			attrs[attr] = cty.NullVal(ty)
		}
		attrs["name"] = cty.StringVal(name)
		attrs["image"] = cty.UnknownVal(cty.String).Mark("image of " + name)
		return cty.ObjectVal(attrs)
	}
	sweep := cty.ObjectVal(map[string]cty.Value{"k=1": one("s[k=1]"), "k=3": one("s[k=3]")})
	for _, tt := range []struct {
		args []cty.Value
		want string // the names, "?" if unknown, or "!" for an error
	}{
		{nil, ""},
		{[]cty.Value{one("a"), sweep}, "a s[k=1] s[k=3]"},
		{[]cty.Value{cty.TupleVal([]cty.Value{sweep, one("a"), one("a")})}, "a s[k=1] s[k=3]"},
		{[]cty.Value{cty.ListVal([]cty.Value{one("a"), one("b")})}, "a b"},
		{[]cty.Value{one("a"), cty.DynamicVal}, "?"},
		{[]cty.Value{cty.TupleVal([]cty.Value{one("a"), cty.UnknownVal(cty.String)})}, "?"},
		{[]cty.Value{cty.StringVal("a")}, "!"},
		{[]cty.Value{one("a"), cty.NullVal(cty.DynamicPseudoType)}, "!"},
		{[]cty.Value{cty.TupleVal([]cty.Value{one("a"), cty.True})}, "!"},
	} {
		v, err := agentsFunc.Call(tt.args)
		got := "!"
		if err == nil {
			if got = "?"; v.IsKnown() {
				names := []string{}
				for name := range v.Type().AttributeTypes() {
					names = append(names, name)
				}
				slices.Sort(names)
				got = strings.Join(names, " ")
			}
			if v.IsMarked() {
				t.Errorf("%v: all of the map is marked", tt.args)
			}
		}
		if got != tt.want {
			t.Errorf("%v: %q, %v; want %q", tt.args, got, err, tt.want)
		}
	}
}
