package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/diag"
)

// evaluator evaluates the expressions of a pipeline with the values that are known so far.
type evaluator struct {
	pipeline *Pipeline

	vars, locals, models, agents map[string]cty.Value

	blocks map[*Step]*block
	// forEach caches the elements of local values that were iterated over.
	forEach map[string][]element
	// stale nodes must be evaluated again because a small value that they depend
	// on has become known.
	stale map[string]bool
}

func newEvaluator(p *Pipeline, vars map[string]cty.Value) *evaluator {
	return &evaluator{
		pipeline: p, vars: vars,
		locals: map[string]cty.Value{}, models: map[string]cty.Value{}, agents: map[string]cty.Value{},
		blocks: map[*Step]*block{}, forEach: map[string][]element{}, stale: map[string]bool{},
	}
}

// bind evaluates a local, a model or an agent.
func (ev *evaluator) bind(n node) (diags diag.List) {
	switch {
	case n.local != nil:
		ev.locals[n.local.Name], diags = ev.evaluate(n.local.Expr, ev.scope(n.expressions()))
	case n.model != nil:
		ev.models[n.model.Name], diags = ev.modelValue(n.model)
	case n.agent != nil:
		ev.agents[n.agent.Name], diags = ev.agentsValue(n.agent)
	}
	return diags
}

// scope builds the names that an expression refers to, and no others, so that a
// block with many instances only costs those who use it.
func (ev *evaluator) scope(exprs []hcl.Expression) *hcl.EvalContext {
	steps := map[string]map[string]cty.Value{}
	locals := map[string]cty.Value{}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: ev.pipeline.funcs}
	for _, e := range exprs {
		for _, t := range e.Variables() {
			switch t.RootName() {
			case "var":
				ctx.Variables["var"] = cty.ObjectVal(ev.vars)
			case "agent":
				ctx.Variables["agent"] = cty.ObjectVal(ev.agents)
			case "model":
				ctx.Variables["model"] = cty.ObjectVal(ev.models)
			case "local":
				for _, name := range memberNodes(t, "", ev.locals) {
					if v, ok := ev.locals[name]; ok {
						locals[name] = v
					}
				}
			case "path":
				ctx.Variables["path"] = cty.ObjectVal(map[string]cty.Value{"pipeline": cty.StringVal(folderOf(ev.pipeline.Path))})
			case "step":
				ev.addStep(steps, t)
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

func (ev *evaluator) addStep(steps map[string]map[string]cty.Value, t hcl.Traversal) {
	s, diags := ev.pipeline.stepOf(t)
	if diags.HasErrors() {
		return
	}
	if steps[s.Addr.Kind] == nil {
		steps[s.Addr.Kind] = map[string]cty.Value{}
	}
	steps[s.Addr.Kind][s.Addr.Name] = ev.valueOf(s)
}

// evaluate evaluates e. Its diagnostics list the existing names for a name that
// does not exist. Infinite numbers, which cannot be stored, are errors.
func (ev *evaluator) evaluate(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	v, diags := ev.pipeline.budget.Value(e, ctx)
	if !diags.HasErrors() && v.Type() == cty.Number && infinite(v) {
		diags = append(diags, outOfRange(e))
	}
	diags = diags[:min(len(diags), maxDiags)]
	for _, d := range diags {
		if !ev.pipeline.budget.Passed() {
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
