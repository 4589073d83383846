package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/step"
)

// quick gives the argument of an instance that an expression means: known, not
// null, of the argument's type, without the marks, which are added to marks. It
// returns false where the language must say it: what it does not know, and all
// errors.
type quick func(inst *Instance, marks map[any]struct{}) (cty.Value, bool)

// quickly prepares an expression of a type, or returns nil if it is not of the few
// forms that most expressions with each have:
//
//	each.key, each.value, each.value.name, "text ${…}",
//	step.kind.name[…].output, { name = … } and […] of these
func (g *Graph) quickly(e hcl.Expression, ty cty.Type) quick {
	switch e := e.(type) {
	case *bounded.Metered:
		return g.quickly(e.Expression, ty)
	case *hclsyntax.ParenthesesExpr:
		return g.quickly(e.Expression, ty)
	case *hclsyntax.TemplateWrapExpr:
		return g.quickly(e.Wrapped, ty)
	case *hclsyntax.LiteralValueExpr:
		if v := e.Val; ty == cty.String && isText(v) {
			return func(*Instance, map[any]struct{}) (cty.Value, bool) { return v, true }
		}
	case *hclsyntax.ScopeTraversalExpr:
		if ty == cty.String {
			return quickEach(e.Traversal)
		}
	case *hclsyntax.TemplateExpr:
		if ty == cty.String {
			return g.quickText(e)
		}
	case *hclsyntax.RelativeTraversalExpr:
		if ty == step.ArtifactType {
			return g.quickOutput(e)
		}
	case *hclsyntax.ObjectConsExpr:
		if ty.IsMapType() {
			return g.quickMap(e, ty.ElementType())
		}
	case *hclsyntax.TupleConsExpr:
		if ty.IsListType() {
			return g.quickList(e, ty.ElementType())
		}
	}
	return nil
}

func isText(v cty.Value) bool {
	return v.Type() == cty.String && !v.IsMarked() && v.IsKnown() && !v.IsNull()
}

func quickEach(t hcl.Traversal) quick {
	if t.RootName() != "each" || len(t) < 2 || len(t) > 3 {
		return nil
	}
	name, _ := member(t[1])
	switch {
	case name == "key" && len(t) == 2:
		return func(inst *Instance, _ map[any]struct{}) (cty.Value, bool) { return cty.StringVal(inst.Addr.Key), true }
	case name == "value" && len(t) == 2:
		return func(inst *Instance, _ map[any]struct{}) (cty.Value, bool) { return inst.each, isText(inst.each) }
	case name == "value":
		attr, ok := t[2].(hcl.TraverseAttr)
		if !ok {
			return nil
		}
		return func(inst *Instance, _ map[any]struct{}) (cty.Value, bool) {
			v := inst.each
			if v.IsMarked() || !v.Type().IsObjectType() || v.IsNull() || !v.IsKnown() || !v.Type().HasAttribute(attr.Name) {
				return cty.NilVal, false
			}
			v = v.GetAttr(attr.Name)
			return v, isText(v)
		}
	}
	return nil
}

func (g *Graph) quickText(e *hclsyntax.TemplateExpr) quick {
	parts := make([]quick, len(e.Parts))
	for i, part := range e.Parts {
		if parts[i] = g.quickly(part, cty.String); parts[i] == nil {
			return nil
		}
	}
	return func(inst *Instance, marks map[any]struct{}) (cty.Value, bool) {
		var b strings.Builder
		for _, part := range parts {
			v, ok := part(inst, marks)
			if !ok {
				return cty.NilVal, false
			}
			b.WriteString(v.AsString())
		}
		return cty.StringVal(b.String()), true
	}
}

func (g *Graph) quickMap(e *hclsyntax.ObjectConsExpr, ty cty.Type) quick {
	elems := make(map[string]quick, len(e.Items))
	for _, item := range e.Items {
		if len(item.KeyExpr.Variables()) > 0 {
			return nil
		}
		key, diags := bounded.Literal(item.KeyExpr)
		if diags.HasErrors() || !isText(key) || elems[key.AsString()] != nil {
			return nil
		}
		elem := g.quickly(item.ValueExpr, ty)
		if elem == nil {
			return nil
		}
		elems[key.AsString()] = elem
	}
	if len(elems) == 0 {
		return nil
	}
	return func(inst *Instance, marks map[any]struct{}) (cty.Value, bool) {
		values := make(map[string]cty.Value, len(elems))
		for key, elem := range elems {
			v, ok := elem(inst, marks)
			if !ok {
				return cty.NilVal, false
			}
			values[key] = v
		}
		return cty.MapVal(values), true
	}
}

func (g *Graph) quickList(e *hclsyntax.TupleConsExpr, ty cty.Type) quick {
	elems := make([]quick, len(e.Exprs))
	for i, one := range e.Exprs {
		if elems[i] = g.quickly(one, ty); elems[i] == nil {
			return nil
		}
	}
	if len(elems) == 0 {
		return nil
	}
	return func(inst *Instance, marks map[any]struct{}) (cty.Value, bool) {
		values := make([]cty.Value, len(elems))
		for i, elem := range elems {
			v, ok := elem(inst, marks)
			if !ok {
				return cty.NilVal, false
			}
			values[i] = v
		}
		return cty.ListVal(values), true
	}
}

// quickOutput is content of an instance of another block: step.kind.name[…].output.
func (g *Graph) quickOutput(e *hclsyntax.RelativeTraversalExpr) quick {
	index, ok := e.Source.(*hclsyntax.IndexExpr)
	if !ok || len(e.Traversal) != 1 {
		return nil
	}
	of, ok := index.Collection.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(of.Traversal) != 3 || of.Traversal.RootName() != "step" {
		return nil
	}
	s, diags := g.Pipeline.stepOf(of.Traversal)
	attr, ok := e.Traversal[0].(hcl.TraverseAttr)
	if !ok || diags.HasErrors() || g.blocks[s] == nil || !g.blocks[s].keyed {
		return nil
	}
	key := g.quickly(index.Key, cty.String)
	if key == nil {
		return nil
	}
	for o, out := range s.Kind.Outputs {
		if out.Name != attr.Name || out.Type != step.ArtifactType {
			continue
		}
		return func(inst *Instance, marks map[any]struct{}) (cty.Value, bool) {
			v, ok := key(inst, marks)
			if !ok {
				return cty.NilVal, false
			}
			i, ok := g.Find(addr.Keyed(s.Addr, v.AsString()))
			if !ok {
				return cty.NilVal, false
			}
			marks[origin{inst: i, out: o}] = struct{}{}
			return step.NewArtifact(g.Instances[i].artifacts[o]), true
		}
	}
	return nil
}
