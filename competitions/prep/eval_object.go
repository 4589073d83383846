package prep

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/plugins/data/transform"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// pair is one member of an object in the order in which it was written.
type pair struct {
	name  string
	value cty.Value
	at    hcl.Range
}

// collection computes an object, or a for expression.
func (e *evaluator) collection(expr hclsyntax.Expression, s *scope) (cty.Value, hcl.Diagnostics) {
	if f, ok := expr.(*hclsyntax.ForExpr); ok && f.KeyExpr == nil {
		var items []cty.Value
		diags := e.each(f, s, func(inner *scope) hcl.Diagnostics {
			v, diags := e.value(f.ValExpr, inner)
			items = append(items, v)
			return diags
		})
		return cty.TupleVal(items), diags
	}
	pairs, diags := e.pairs(expr, s)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	attrs := make(map[string]cty.Value, len(pairs))
	for _, p := range pairs {
		attrs[p.name] = p.value
	}
	return cty.ObjectVal(attrs), nil
}

// pairs computes the members of an object in the order in which it is
// written; an object that comes from elsewhere is in the order of its names.
func (e *evaluator) pairs(expr hclsyntax.Expression, s *scope) ([]pair, hcl.Diagnostics) {
	switch x := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return e.pairs(x.Expression, s)
	case *hclsyntax.ObjectConsExpr:
		var out []pair
		var diags hcl.Diagnostics
		for _, item := range x.Items {
			p, more := e.pair(item.KeyExpr, item.ValueExpr, s)
			diags = append(diags, more...)
			out = append(out, p)
		}
		return out, diags
	case *hclsyntax.ForExpr:
		if x.KeyExpr == nil {
			break
		}
		var out []pair
		diags := e.each(x, s, func(inner *scope) hcl.Diagnostics {
			p, diags := e.pair(x.KeyExpr, x.ValExpr, inner)
			out = append(out, p)
			return diags
		})
		return out, diags
	}
	v, diags := e.value(expr, s)
	if diags.HasErrors() {
		return nil, diags
	}
	if t := v.Type(); v.IsNull() || !t.IsObjectType() && !t.IsMapType() {
		return nil, wrong(expr.Range(), "Not an object", "Expected an object { name = value, … }, not %s.", describe(v))
	}
	var out []pair
	members := v.AsValueMap()
	for _, name := range sortedKeys(members) {
		out = append(out, pair{name, members[name], expr.Range()})
	}
	return out, nil
}

func (e *evaluator) pair(key, val hclsyntax.Expression, s *scope) (pair, hcl.Diagnostics) {
	k, diags := e.value(key, s)
	v, more := e.value(val, s)
	if diags = append(diags, more...); diags.HasErrors() {
		return pair{}, diags
	}
	name, err := convert.Convert(k, cty.String)
	if err != nil || name.IsNull() {
		return pair{}, wrong(key.Range(), "Wrong name", "The name of a member must be a string.")
	}
	return pair{name.AsString(), v, val.Range()}, nil
}

// objectKey reads a bare word as a text, anything else as an expression.
func (e *evaluator) objectKey(x *hclsyntax.ObjectConsKeyExpr, s *scope) (cty.Value, hcl.Diagnostics) {
	if word := hcl.ExprAsKeyword(x.Wrapped); word != "" && !x.ForceNonLiteral {
		return cty.StringVal(word), nil
	}
	return e.value(x.Wrapped, s)
}

// each runs a for expression's body for every element.
func (e *evaluator) each(x *hclsyntax.ForExpr, s *scope, body func(*scope) hcl.Diagnostics) hcl.Diagnostics {
	coll, diags := e.value(x.CollExpr, s)
	if diags.HasErrors() {
		return diags
	}
	if x.Group {
		return wrong(x.Range(), "Not available here", "Grouping for expressions cannot be used in a prepare block.")
	}
	if coll.IsNull() || !coll.CanIterateElements() {
		return wrong(x.CollExpr.Range(), "Nothing to loop over", "Expected a list or an object, not %s; list(column) turns a column into a list.", describe(coll))
	}
	for it := coll.ElementIterator(); it.Next(); {
		k, v := it.Element()
		inner := &scope{parent: s, names: map[string]cty.Value{x.ValVar: v}}
		if x.KeyVar != "" {
			inner.names[x.KeyVar] = k
		}
		if x.CondExpr != nil {
			cond, more := e.value(x.CondExpr, inner)
			if more.HasErrors() {
				return more
			}
			if cond.Type() != cty.Bool || cond.IsNull() {
				return wrong(x.CondExpr.Range(), "Not a condition", "Expected true or false, not %s.", describe(cond))
			}
			if cond.False() {
				continue
			}
		}
		if diags := body(inner); diags.HasErrors() {
			return diags
		}
	}
	return nil
}

// fields computes an object whose members are columns or single values.
func (e *evaluator) fields(expr hclsyntax.Expression, s *scope) (transform.Fields, hcl.Diagnostics) {
	pairs, diags := e.pairs(expr, s)
	if diags.HasErrors() {
		return nil, diags
	}
	out := make(transform.Fields, len(pairs))
	for i, p := range pairs {
		o, err := toOperand(p.value)
		if err != nil {
			diags = append(diags, wrong(p.at, "Wrong value for "+p.name, "Expected a column or a single value, not %s.", describe(p.value))...)
			continue
		}
		out[i] = transform.Field{Name: p.name, Value: o}
	}
	return out, diags
}

// members computes an object whose members are columns or JSON values.
func (e *evaluator) members(expr hclsyntax.Expression, s *scope) (transform.Members, hcl.Diagnostics) {
	pairs, diags := e.pairs(expr, s)
	if diags.HasErrors() {
		return nil, diags
	}
	out := make(transform.Members, len(pairs))
	for i, p := range pairs {
		out[i].Name = p.name
		if c, ok := asColumn(p.value); ok {
			out[i].Column = c
			continue
		}
		v, err := toJSON(p.value)
		if err != nil {
			diags = append(diags, wrong(p.at, "Wrong value for "+p.name, "%v.", err)...)
		}
		out[i].Value = v
	}
	return out, diags
}
