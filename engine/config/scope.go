package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// scope builds the names that an expression refers to, and no others, so that a
// block with many instances only costs those who use it.
func (g *Graph) scope(exprs []hcl.Expression) *hcl.EvalContext {
	steps := map[string]map[string]cty.Value{}
	locals := map[string]cty.Value{}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: g.Pipeline.funcs}
	for _, e := range exprs {
		for _, t := range e.Variables() {
			switch t.RootName() {
			case "var":
				ctx.Variables["var"] = cty.ObjectVal(g.vars)
			case "agent":
				ctx.Variables["agent"] = cty.ObjectVal(g.agents)
			case "model":
				ctx.Variables["model"] = cty.ObjectVal(g.models)
			case "local":
				for _, name := range memberNodes(t, "", g.locals) {
					if v, ok := g.locals[name]; ok {
						locals[name] = v
					}
				}
			case "path":
				ctx.Variables["path"] = cty.ObjectVal(map[string]cty.Value{"pipeline": cty.StringVal(folderOf(g.Pipeline.Path))})
			case "step":
				g.addStep(steps, t)
			}
		}
	}
	if len(locals) > 0 {
		ctx.Variables["local"] = cty.ObjectVal(locals)
	}
	if len(steps) > 0 {
		byKind := make(map[string]cty.Value, len(steps))
		for kind, names := range steps {
			byKind[kind] = cty.ObjectVal(names)
		}
		ctx.Variables["step"] = cty.ObjectVal(byKind)
	}
	return ctx
}

func (g *Graph) addStep(steps map[string]map[string]cty.Value, t hcl.Traversal) {
	s, diags := g.Pipeline.stepOf(t)
	if diags.HasErrors() {
		return
	}
	if steps[s.Addr.Kind] == nil {
		steps[s.Addr.Kind] = map[string]cty.Value{}
	}
	steps[s.Addr.Kind][s.Addr.Name] = g.blockValue(s)
}

func (g *Graph) blockValue(s *Step) cty.Value {
	b := g.blocks[s]
	if b == nil {
		return cty.DynamicVal // its own expansion failed
	}
	if b.value != cty.NilVal {
		return b.value
	}
	if !b.keyed {
		b.value = g.instanceValue(g.Instances[b.first])
		return b.value
	}
	if b.count == 0 {
		b.value = cty.MapValEmpty(outputsType(s.Kind))
		return b.value
	}
	all := make(map[string]cty.Value, b.count)
	for _, inst := range g.Instances[b.first : b.first+b.count] {
		all[inst.Addr.Key] = g.instanceValue(inst)
	}
	b.value = cty.MapVal(all)
	return b.value
}

func outputsType(k *step.Kind) cty.Type {
	types := make(map[string]cty.Type, len(k.Outputs))
	for _, o := range k.Outputs {
		types[o.Name] = o.Type
	}
	return cty.Object(types)
}

// instanceValue is the object of an instance's outputs, each with its mark.
func (g *Graph) instanceValue(inst *Instance) cty.Value {
	outs := inst.Step.Kind.Outputs
	attrs := make(map[string]cty.Value, len(outs))
	for o := range outs {
		v := cty.UnknownVal(outs[o].Type)
		if a := inst.artifacts[o]; a != nil {
			v = step.NewArtifact(a)
		} else if inst.outputs != nil {
			v = smallValue(inst.outputs[outs[o].Name].JSON, outs[o].Type)
		}
		attrs[outs[o].Name] = v.Mark(origin{inst: inst.index, out: o})
	}
	return cty.ObjectVal(attrs)
}

func smallValue(text []byte, ty cty.Type) cty.Value {
	if len(text) == 0 {
		return cty.NullVal(ty)
	}
	v, err := ctyjson.Unmarshal(text, ty)
	if err != nil {
		return cty.NullVal(ty) // recorded by another version of the kind
	}
	return v
}

// evaluate evaluates e. Its diagnostics list the existing names for a name that
// does not exist. Infinite numbers, which cannot be stored, are errors.
func (g *Graph) evaluate(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	v, diags := g.Pipeline.budget.Value(e, ctx)
	if !diags.HasErrors() && v.Type() == cty.Number && infinite(v) {
		diags = append(diags, outOfRange(e))
	}
	diags = diags[:min(len(diags), maxDiags)]
	for _, d := range diags {
		if !g.Pipeline.budget.Passed() {
			explainAccess(d)
		}
		// The values of variables in scope may be long or sensitive, so they are left
		// out.
		d.EvalContext = nil
	}
	return v, diags
}

// maxDiags is how many diagnostics of one expression are kept. A loop may have one
// for each element, and each instance has a copy.
const maxDiags = 20

func outOfRange(e hcl.Expression) *hcl.Diagnostic {
	return diag.Error(e.Range(), "Number out of range", "The result is infinite, such as that of a division by zero.")
}

// infinite reports whether v is or contains an infinite number, which JSON
// cannot represent.
func infinite(v cty.Value) bool {
	found := false
	plain, _ := v.UnmarkDeep()
	_ = cty.Walk(plain, func(_ cty.Path, v cty.Value) (bool, error) {
		found = found || v.Type() == cty.Number && v.IsKnown() && !v.IsNull() && v.AsBigFloat().IsInf()
		return !found, nil
	})
	return found
}
