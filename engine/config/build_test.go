package config

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestBuild makes the same instances of listed steps as of a file, and refuses
// what their kinds do not know.
func TestBuild(t *testing.T) {
	args := func(v ...string) map[string]cty.Value {
		m := map[string]cty.Value{}
		for i := 0; i < len(v); i += 2 {
			m[v[i]] = cty.StringVal(v[i+1])
		}
		return m
	}
	opts := Options{Kinds: testKinds()}
	tests := []struct {
		name string
		spec []StepSpec
		want string
	}{
		{"as written", []StepSpec{{Kind: "source", Name: "raw", Args: args("id", "${x} %{y} \"z\"")}}, ""},
		{"unknown kind", []StepSpec{{Kind: "sauce", Name: "raw"}}, `no step kind "sauce"`},
		{"twice", []StepSpec{{Kind: "source", Name: "raw", Args: args("id", "a")}, {Kind: "source", Name: "raw", Args: args("id", "b")}}, "listed twice"},
		{"unknown argument", []StepSpec{{Kind: "source", Name: "raw", Args: args("id", "a", "idd", "b")}}, `no argument "idd"`},
		{"missing argument", []StepSpec{{Kind: "source", Name: "raw"}}, `needs the argument "id"`},
		{"unknown block", []StepSpec{{Kind: "source", Name: "raw", Args: args("id", "a"), Blocks: map[string]map[string]cty.Value{"x": nil}}}, `no block "x"`},
	}
	for _, tt := range tests {
		p, diags := Build("test", tt.spec, opts)
		if tt.want != "" {
			if !diags.HasErrors() || !strings.Contains(diags.Error(), tt.want) {
				t.Errorf("%s: got %v, want %s", tt.name, diags, tt.want)
			}
			continue
		}
		if diags.HasErrors() {
			t.Errorf("%s: %v", tt.name, diags)
			continue
		}
		g, diags := p.Expand(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		got, diags := g.Args(0)
		if diags.HasErrors() || got.Get("id").AsString() != `${x} %{y} "z"` {
			t.Errorf("%s: got %v, %v", tt.name, got, diags)
		}
	}
}
