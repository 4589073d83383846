package step_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
)

type declaredBlock struct {
	Open  bool     `cty:"open" doc:"Opens."`
	Allow []string `cty:"allow" doc:"Names."`
}

type declared struct {
	Name   string              `cty:"name" is:"required" doc:"A name."`
	Count  int64               `cty:"count" is:"cosmetic" doc:"A \"number\"."`
	Mode   string              `cty:"mode" open:"auto" group:"limits" doc:"A mode."`
	Text   *string             `cty:"text" is:"command bycommand setting"`
	List   []string            `cty:"list" is:"files block"`
	Empty  []string            `cty:"empty"`
	Texts  *struct{}           `cty:"texts" made:"task" when:"mode" passing:"name count"`
	Block  *declaredBlock      `cty:"block" block:"A block."`
	Second *declaredBlock      `cty:"second" group:"limits" block:"Another."`
	Last   map[string][]string `cty:"last"`
	hidden int
}

func TestAttrs(t *testing.T) {
	text := "x"
	d := declared{Name: "not a default", Mode: "auto", Text: &text, Empty: []string{}, Second: &declaredBlock{Open: true, Allow: []string{"a"}}, hidden: 1}
	oneOf := step.OneOf{"mode": {"auto", "fast"}, "allow": {"a", "b"}}
	strings := cty.List(cty.String)
	want := []step.Attr{
		{Name: "name", Type: cty.String, Required: true, Doc: "A name."},
		{Name: "count", Type: cty.Number, Default: cty.Zero, Cosmetic: true, Doc: `A "number".`},
		{Name: "mode", Type: cty.String, Default: cty.StringVal("auto"), Open: "auto", OneOf: []string{"auto", "fast"}, Group: step.GroupLimits, Doc: "A mode."},
		{Name: "text", Type: cty.String, Default: cty.StringVal("x"), Command: true, ByCommand: true, Setting: true},
		{Name: "list", Type: strings, Files: true, Block: true},
		{Name: "empty", Type: strings, Default: cty.ListValEmpty(cty.String)},
		{Name: "texts", Type: cty.EmptyObject, Made: &step.Made{Kind: "task", When: "mode", Args: []string{"name", "count"}}},
		{Name: "last", Type: cty.Map(strings)},
	}
	equal := cmp.Options{
		cmp.Comparer(func(a, b cty.Type) bool { return a.Equals(b) }),
		cmp.Comparer(func(a, b cty.Value) bool {
			if a == cty.NilVal || b == cty.NilVal {
				return a == cty.NilVal && b == cty.NilVal
			}
			return a.RawEquals(b)
		}),
	}
	if diff := cmp.Diff(want, step.Attrs(d, oneOf), equal); diff != "" {
		t.Errorf("arguments (-want +got)\n%s", diff)
	}
	inner := func(open cty.Value, allow cty.Value) []step.Attr {
		return []step.Attr{
			{Name: "open", Type: cty.Bool, Default: open, Doc: "Opens."},
			{Name: "allow", Type: strings, Default: allow, OneOf: []string{"a", "b"}, Doc: "Names."},
		}
	}
	blocks := []step.Block{
		{Name: "block", Doc: "A block.", Args: inner(cty.False, cty.NilVal)},
		{Name: "second", Doc: "Another.", Args: inner(cty.True, cty.ListVal([]cty.Value{cty.StringVal("a")})), Group: step.GroupLimits},
	}
	if diff := cmp.Diff(blocks, step.Blocks(d, oneOf), equal); diff != "" {
		t.Errorf("blocks (-want +got)\n%s", diff)
	}
}

// TestGroupOf finds the group of a field of a key by what the kind declares.
func TestGroupOf(t *testing.T) {
	kind := step.Kind{Args: step.Attrs(declared{}, nil), Blocks: step.Blocks(declared{}, nil)}
	for label, want := range map[string]string{"mode": step.GroupLimits, "second.open": step.GroupLimits, "block.open": "", "name": "", `files["limits.py"]`: "", "timeout": ""} {
		if got := kind.GroupOf(label); got != want {
			t.Errorf("%s has group %q, want %q", label, got, want)
		}
	}
	kind.LimitsInKey = true
	for _, label := range []string{"timeout", "resources.cpus"} {
		if kind.GroupOf(label) != step.GroupLimits {
			t.Errorf("%s is no limit", label)
		}
	}
}

func TestAttrsRefusesAnUnknownWord(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the tag is may have any word")
		}
	}()
	step.Attrs(struct {
		Name string `cty:"name" is:"requierd"`
	}{}, nil)
}
