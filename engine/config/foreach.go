package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/diag"
)

// element is one element of a for_each.
type element struct {
	key   string
	value cty.Value
}

func (e element) context(ctx *hcl.EvalContext) *hcl.EvalContext {
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(e.key), "value": e.value})}
	return child
}

// elements evaluates the for_each of a block. Blocks over the same local
// value share the list, which takes long to sort when it is long.
func (ev *evaluator) elements(e hcl.Expression) ([]element, diag.List) {
	name := localName(e)
	if list, ok := ev.forEach[name]; ok {
		return list, nil
	}
	list, diags := ev.evaluateElements(e)
	if name != "" && !diags.HasErrors() {
		ev.forEach[name] = list
	}
	return list, diags
}

// localName returns the name if e is exactly local.name.
func localName(e hcl.Expression) string {
	t, diags := hcl.AbsTraversalForExpr(e)
	if diags.HasErrors() || len(t) != 2 || t.RootName() != "local" {
		return ""
	}
	name, _ := member(t[1])
	return name
}

func (ev *evaluator) evaluateElements(e hcl.Expression) ([]element, diag.List) {
	v, diags := ev.evaluate(e, ev.scope([]hcl.Expression{e}))
	if diags.HasErrors() {
		return nil, diags
	}
	r := e.Range()
	shallow, marks := v.Unmark()
	if _, found := marks[sensitive]; found {
		return nil, diag.List{sensitiveForEach(r)}
	}
	ty := shallow.Type()
	if !shallow.IsKnown() {
		return nil, diag.List{unknownForEach(r, v, marks)}
	}
	if shallow.IsNull() {
		return nil, diag.List{diag.Error(r, "Invalid for_each", "for_each must be a set, list or map, not null. For no instances, write toset([]).")}
	}
	switch {
	case ty.IsMapType() || ty.IsObjectType():
		return mapElements(shallow), nil
	case ty.IsSetType() || ty.IsListType() || ty.IsTupleType():
		return listElements(r, shallow)
	}
	return nil, diag.List{diag.Error(r, "Invalid for_each", "for_each must be a set, list or map, not %s.", ty.FriendlyName())}
}

func mapElements(v cty.Value) []element {
	all := v.AsValueMap()
	list := make([]element, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		list = append(list, element{key, all[key]})
	}
	return list
}

func listElements(r hcl.Range, v cty.Value) ([]element, diag.List) {
	list := make([]element, 0, v.LengthInt())
	seen := make(map[string]bool, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		plain, marks := elem.Unmark()
		if _, found := marks[sensitive]; found {
			return nil, diag.List{sensitiveForEach(r)}
		}
		if !plain.IsKnown() {
			return nil, diag.List{unknownForEach(r, elem, marks)}
		}
		text, err := convert.Convert(plain, cty.String)
		if v, bad := gather([]cty.Value{plain}); bad == nil && v.IsKnown() && v.LengthInt() > 0 {
			return nil, diag.List{diag.Error(r, "Invalid for_each", "This is a list of agents. Write agents(agent.a, agent.b) for a map of them, by name; a sweep stands for all of its agents.")}
		}
		if err != nil || text.IsNull() {
			return nil, diag.List{diag.Error(r, "Invalid for_each", "The elements must be strings, since they become keys; one is %s. To iterate over objects, use a map: { for x in list : x.name => x }.", plain.Type().FriendlyName())}
		}
		key := text.AsString()
		if seen[key] {
			return nil, diag.List{diag.Error(r, "Duplicate address", "The key %q occurs twice, so two instances would have the same address. Use toset(…) to drop duplicates.", key)}
		}
		seen[key] = true
		list = append(list, element{key, text})
	}
	slices.SortFunc(list, func(a, b element) int { return strings.Compare(a.key, b.key) })
	return list, nil
}

func sensitiveForEach(r hcl.Range) *hcl.Diagnostic {
	return diag.Error(r, "Sensitive value in for_each", "The keys would be part of addresses, which are stored and shown. Iterate over values that are not sensitive.")
}

func unknownForEach(r hcl.Range, v cty.Value, marks cty.ValueMarks) *hcl.Diagnostic {
	_, deep := v.UnmarkDeep()
	names := map[string]bool{}
	for _, set := range []cty.ValueMarks{marks, deep} {
		for m := range set {
			if o, ok := m.(origin); ok {
				names[o.inst.Addr.Step.String()] = true
			}
		}
	}
	from := "a step's output"
	if len(names) > 0 {
		from = "outputs of " + strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	}
	d := diag.Error(r, "for_each is not known", "The keys depend on %s, which is known only after it ran. The keys of for_each must be known before anything runs: use variables, locals, competitions(…), or the keys of another step's for_each.", from)
	if len(names) == 0 {
		d.Extra = followsError
	}
	return d
}

// followsError is the extra of an error that is not told if there are others, since a
// value may be unknown because of them.
const followsError = "follows an error"
