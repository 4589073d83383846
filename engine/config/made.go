package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
)

// The expressions of a step that is made, as if they had been written:
//
//	step "task" "solve" {
//	  for_each    = { "a/reference" = { competition = "a", task = "reference" }, … }
//	  competition = each.value.competition
//	  task        = each.value.task
//	}
//	step "agent-run" "solve" {
//	  …
//	  texts = step.task.solve["${competition}/${task}"]
//	}

// combinations is the for_each of an implicit step: the values of the arguments
// in all instances of another step, by their key.
type combinations struct {
	of    *Step
	names []string
	exprs []hcl.Expression
}

// Value implements hcl.Expression.
func (c *combinations) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	contexts := []*hcl.EvalContext{ctx}
	marks := cty.ValueMarks{}
	if c.of.ForEach != nil {
		v, diags := c.of.ForEach.Value(ctx)
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		v, marks = v.Unmark()
		if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
			return cty.MapValEmpty(cty.DynamicPseudoType), nil // the other step reports why
		}
		contexts = eachContexts(ctx, v, alikeIn(c.exprs...))
	}
	all := map[string]cty.Value{}
	for _, one := range contexts {
		key, values, more, diags := c.in(one)
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		all[key] = cty.ObjectVal(values)
		maps.Copy(marks, more)
	}
	return cty.ObjectVal(all).WithMarks(marks), nil
}

// eachContexts returns the scope of each element, and only one of those that are
// alike.
func eachContexts(ctx *hcl.EvalContext, v cty.Value, same *alike) (list []*hcl.EvalContext) {
	seen := map[string]bool{}
	keyed := v.Type().IsMapType() || v.Type().IsObjectType()
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if !keyed {
			key = value
		}
		if same != nil {
			if of, ok := same.key(value); ok && seen[of] {
				continue
			} else if ok {
				seen[of] = true
			}
		}
		child := ctx.NewChild()
		child.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		list = append(list, child)
	}
	return list
}

// in returns the values of the arguments in one scope, and their key.
func (c *combinations) in(ctx *hcl.EvalContext) (key string, values map[string]cty.Value, marks cty.ValueMarks, diags hcl.Diagnostics) {
	values, marks = map[string]cty.Value{}, cty.ValueMarks{}
	var parts []string
	for i, e := range c.exprs {
		v, more := e.Value(ctx)
		if diags = append(diags, more...); more.HasErrors() {
			continue
		}
		v, found := v.UnmarkDeep()
		maps.Copy(marks, found)
		text, err := convert.Convert(v, cty.String)
		switch {
		case err != nil || !v.IsKnown():
			diags = append(diags, diag.Error(e.Range(), "Value is not known", "%s must be a string that is known before anything runs.", c.names[i]))
		case text.IsNull(): // the argument's default applies
		default:
			values[c.names[i]] = text
			parts = append(parts, text.AsString())
			continue
		}
		values[c.names[i]] = cty.NullVal(cty.String)
	}
	return strings.Join(parts, "/"), values, marks, diags
}

// Variables implements hcl.Expression.
func (c *combinations) Variables() (all []hcl.Traversal) {
	if c.of.ForEach != nil {
		all = c.of.ForEach.Variables()
	}
	for _, e := range c.exprs {
		all = append(all, e.Variables()...)
	}
	return slices.DeleteFunc(all, func(t hcl.Traversal) bool { return t.RootName() == "each" })
}

// Range implements hcl.Expression.
func (c *combinations) Range() hcl.Range { return c.of.Range }

// StartRange implements hcl.Expression.
func (c *combinations) StartRange() hcl.Range { return c.of.Range }

// madeFor is the argument that an implicit step provides.
type madeFor struct {
	*combinations
	from addr.Step
}

func (m *madeFor) traversal() hcl.Traversal {
	return hcl.Traversal{hcl.TraverseRoot{Name: "step", SrcRange: m.of.Range},
		hcl.TraverseAttr{Name: m.from.Kind, SrcRange: m.of.Range}, hcl.TraverseAttr{Name: m.from.Name, SrcRange: m.of.Range}}
}

// Value implements hcl.Expression.
func (m *madeFor) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	key, _, marks, diags := m.in(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, nil // the implicit step reports why
	}
	all, diags := m.traversal().TraverseAbs(ctx)
	if diags.HasErrors() || !all.IsKnown() {
		return cty.DynamicVal, diags
	}
	rng := m.of.Range
	v, diags := hcl.Index(all, cty.StringVal(key), &rng)
	return v.WithMarks(marks), diags
}

// Variables implements hcl.Expression.
func (m *madeFor) Variables() []hcl.Traversal {
	all := []hcl.Traversal{m.traversal()}
	for _, e := range m.exprs {
		all = append(all, e.Variables()...)
	}
	return all
}

// eachValue is each.value.NAME.
type eachValue struct {
	name string
	rng  hcl.Range
}

func (e *eachValue) traversal() hcl.Traversal {
	return hcl.Traversal{hcl.TraverseRoot{Name: "each", SrcRange: e.rng}, hcl.TraverseAttr{Name: "value", SrcRange: e.rng}, hcl.TraverseAttr{Name: e.name, SrcRange: e.rng}}
}

// Value implements hcl.Expression.
func (e *eachValue) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return e.traversal().TraverseAbs(ctx)
}

// Variables implements hcl.Expression.
func (e *eachValue) Variables() []hcl.Traversal { return []hcl.Traversal{e.traversal()} }

// Range implements hcl.Expression.
func (e *eachValue) Range() hcl.Range { return e.rng }

// StartRange implements hcl.Expression.
func (e *eachValue) StartRange() hcl.Range { return e.rng }
