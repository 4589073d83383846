package prep

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// collect converts each element, with all their mistakes.
func collect[T, U any](list []T, convert func(T) (U, hcl.Diagnostics)) (out []U, diags hcl.Diagnostics) {
	out = make([]U, len(list))
	for i, element := range list {
		var more hcl.Diagnostics
		out[i], more = convert(element)
		diags = append(diags, more...)
	}
	return out, diags
}

// pair is one member of an object in the order in which it was written.
type pair struct {
	name  string
	value cty.Value
	at    hcl.Range
}

// collection computes an object, or a for expression.
func (e *evaluator) collection(expr hclsyntax.Expression, s *scope) (cty.Value, hcl.Diagnostics) {
	if f, ok := expr.(*hclsyntax.ForExpr); ok && f.KeyExpr == nil {
		items, diags := eachElement(e, f, s, func(inner *scope) (cty.Value, hcl.Diagnostics) { return e.value(f.ValExpr, inner) })
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
		return collect(x.Items, func(item hclsyntax.ObjectConsItem) (pair, hcl.Diagnostics) {
			return e.pair(item.KeyExpr, item.ValueExpr, s)
		})
	case *hclsyntax.ForExpr:
		if x.KeyExpr == nil {
			break
		}
		return eachElement(e, x, s, func(inner *scope) (pair, hcl.Diagnostics) { return e.pair(x.KeyExpr, x.ValExpr, inner) })
	}
	v, diags := e.value(expr, s)
	if diags.HasErrors() {
		return nil, diags
	}
	if !isObject(v) {
		return nil, wrong(expr.Range(), "Not an object", "Expected an object { name = value, … }, not %s.", describe(v))
	}
	members := v.AsValueMap()
	return lists.Of(sortedKeys(members), func(name string) pair { return pair{name, members[name], expr.Range()} }), nil
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

// eachElement returns what a for expression's body gives for every element.
func eachElement[T any](e *evaluator, x *hclsyntax.ForExpr, s *scope, body func(*scope) (T, hcl.Diagnostics)) (out []T, diags hcl.Diagnostics) {
	coll, diags := e.value(x.CollExpr, s)
	if diags.HasErrors() {
		return nil, diags
	}
	if x.Group {
		return nil, wrong(x.Range(), "Not available here", "Grouping for expressions cannot be used in a prepare block.")
	}
	if coll.IsNull() || !coll.CanIterateElements() {
		return nil, wrong(x.CollExpr.Range(), "Nothing to loop over", "Expected a list or an object, not %s; list(column) turns a column into a list.", describe(coll))
	}
	for it := coll.ElementIterator(); it.Next(); {
		k, v := it.Element()
		inner := &scope{parent: s, names: map[string]cty.Value{x.ValVar: v}}
		if x.KeyVar != "" {
			inner.names[x.KeyVar] = k
		}
		if x.CondExpr != nil {
			if holds, more := e.condition(x.CondExpr, inner, false); more.HasErrors() {
				return nil, more
			} else if holds.False() {
				continue
			}
		}
		element, more := body(inner)
		if more.HasErrors() {
			return nil, more
		}
		out = append(out, element)
	}
	return out, nil
}

// fields computes an object whose members are columns or single values.
func (e *evaluator) fields(expr hclsyntax.Expression, s *scope) (transform.Fields, hcl.Diagnostics) {
	return eachPair(e, expr, s, func(p pair) (transform.Field, hcl.Diagnostics) {
		o, err := toOperand(p.value)
		if err != nil {
			return transform.Field{}, wrong(p.at, "Wrong value for "+p.name, "Expected a column or a single value, not %s.", describe(p.value))
		}
		return transform.Field{Name: p.name, Value: o}, nil
	})
}

// members computes an object whose members are columns or JSON values.
func (e *evaluator) members(expr hclsyntax.Expression, s *scope) (transform.Members, hcl.Diagnostics) {
	return eachPair(e, expr, s, func(p pair) (transform.Member, hcl.Diagnostics) {
		if c, ok := asColumn(p.value); ok {
			return transform.Member{Name: p.name, Column: c}, nil
		}
		v, err := toJSON(p.value)
		if err != nil {
			return transform.Member{}, wrong(p.at, "Wrong value for "+p.name, "%v.", err)
		}
		return transform.Member{Name: p.name, Value: v}, nil
	})
}

// eachPair computes an object and converts its members.
func eachPair[T any](e *evaluator, expr hclsyntax.Expression, s *scope, convert func(pair) (T, hcl.Diagnostics)) ([]T, hcl.Diagnostics) {
	pairs, diags := e.pairs(expr, s)
	if diags.HasErrors() {
		return nil, diags
	}
	return collect(pairs, convert)
}
