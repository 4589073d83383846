package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/diag"
)

// maxSweep is the largest number of agents of one block; maxLists that of the lists
// of a matrix, and maxMatrixText the bytes of a name or element there.
const maxSweep, maxLists, maxMatrixText = 10_000, 20, 200

// sweep returns the expression that makes the block a sweep, or nil.
func (a *Agent) sweep() hcl.Expression {
	if e := a.Attrs["for_each"]; e != nil {
		return e
	}
	return a.Attrs["matrix"]
}

// agentsValue evaluates an agent block. That of a sweep is an object with an
// agent for each key.
func (ev *evaluator) agentsValue(a *Agent) (cty.Value, diag.List) {
	ctx := ev.scope(sortedExprs(a.Attrs))
	e := a.sweep()
	if e == nil {
		return ev.agentValue(a, cty.StringVal(a.Name), ctx)
	}
	expand := ev.elements
	if e == a.Attrs["matrix"] {
		expand = ev.matrix
	} else if m := a.Attrs["matrix"]; m != nil {
		return cty.DynamicVal, diag.List{diag.Error(m.Range(), "Two sweeps", "An agent has for_each or matrix, not both. Remove one of the two.")}
	}
	elements, diags := expand(e)
	if len(elements) > maxSweep {
		diags = diag.List{diag.Error(e.Range(), "Too many agents", "The sweep %q would have more than %d agents. Split it into several blocks.", a.Name, maxSweep)}
	}
	all, marks := make(map[string]cty.Value, len(elements)), cty.ValueMarks{}
	for _, each := range elements {
		if diags.HasErrors() {
			return cty.DynamicVal, diags // the others would have the same mistakes
		}
		var more diag.List
		all[each.key], more = ev.agentValue(a, withMarks(cty.StringVal(a.Name+"["+each.key+"]"), each.marks), each.context(ctx))
		maps.Copy(marks, each.marks)
		diags = append(diags, more...)
	}
	return cty.ObjectVal(all).WithMarks(marks), diags
}

// matrix returns all combinations of the elements of a map of lists.
func (ev *evaluator) matrix(e hcl.Expression) ([]element, diag.List) {
	v, diags := ev.evaluate(e, ev.scope([]hcl.Expression{e}))
	if diags.HasErrors() {
		return nil, diags
	}
	r := e.Range()
	plain, marks := v.UnmarkDeep()
	if diags := checkKeys(r, marks); diags != nil {
		return nil, diags
	}
	if !plain.IsWhollyKnown() {
		return nil, diag.List{unknownForEach(r, v, marks)}
	}
	if ty := plain.Type(); plain.IsNull() || !ty.IsObjectType() && !ty.IsMapType() {
		return nil, diag.List{notMatrix(r, "it is "+ty.FriendlyName())}
	}
	lists := plain.AsValueMap()
	if len(lists) == 0 || len(lists) > maxLists {
		return nil, diag.List{notMatrix(r, fmt.Sprintf("it has %d lists, and can have 1 to %d", len(lists), maxLists))}
	}
	rows := []map[string]cty.Value{{}}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		list := lists[name]
		if ty := list.Type(); list.IsNull() || !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType() {
			return nil, diag.List{notMatrix(r, name+" is "+ty.FriendlyName())}
		}
		if len(rows)*list.LengthInt() > maxSweep {
			return nil, diag.List{diag.Error(r, "Too many agents", "The matrix has more than %d combinations. Split it into several blocks.", maxSweep)}
		}
		var next []map[string]cty.Value
		for _, row := range rows {
			for it := list.ElementIterator(); it.Next(); {
				_, elem := it.Element()
				longer := maps.Clone(row)
				longer[name] = elem
				next = append(next, longer)
			}
		}
		rows = next
	}
	return combined(r, rows, marks)
}

// combined makes the keys of a matrix: "depth=3,lr=0.1".
func combined(r hcl.Range, rows []map[string]cty.Value, marks cty.ValueMarks) ([]element, diag.List) {
	list, seen := make([]element, 0, len(rows)), make(map[string]bool, len(rows))
	for _, row := range rows {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(row)) {
			text, err := convert.Convert(row[name], cty.String)
			if err != nil || text.IsNull() {
				return nil, diag.List{notMatrix(r, "an element of "+name+" is "+row[name].Type().FriendlyName())}
			}
			if len(name) > maxMatrixText || len(text.AsString()) > maxMatrixText {
				return nil, diag.List{notMatrix(r, fmt.Sprintf("a name or element is longer than %d bytes", maxMatrixText))}
			}
			parts = append(parts, name+"="+text.AsString())
		}
		key := strings.Join(parts, ",")
		if seen[key] {
			return nil, diag.List{diag.Error(r, "Duplicate address", "Two combinations of the matrix have the key %q. Remove the value that is there twice.", key)}
		}
		seen[key] = true
		list = append(list, element{key, withMarks(cty.ObjectVal(row), marks), marks})
	}
	return list, nil
}

func notMatrix(r hcl.Range, why string) *hcl.Diagnostic {
	return diag.Error(r, "Invalid matrix", "matrix must be a map from names to lists of strings, numbers or booleans, such as { lr = [0.1, 0.01], depth = [3, 5] }; %s.", why)
}
