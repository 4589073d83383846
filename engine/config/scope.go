package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
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
	// known is what is known about the instances; empty while the pipeline is expanded.
	known []knowledge
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
	v, diags := ev.pipeline.value(e, ctx)
	if !diags.HasErrors() && v.Type() == cty.Number && infinite(v) {
		diags = append(diags, outOfRange(e))
	}
	return v, diags
}

// value evaluates e. Its diagnostics do not quote what must not be shown.
func (p *Pipeline) value(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	v, diags := p.budget.Value(e, ctx)
	if len(diags) == 0 {
		return v, nil
	}
	diags = diags[:min(len(diags), maxDiags)]
	switch {
	case diags[0].Extra == bounded.TooMuch:
	case p.conceals(e, ctx):
		conceal(diags)
	default:
		for _, d := range diags {
			explainAccess(d)
		}
	}
	for _, d := range diags {
		d.EvalContext = nil // values in scope may be long
	}
	return v, diags
}

// conceals reports whether diagnostics about an expression must not quote values, or
// whether finding out exceeds the budget.
func (p *Pipeline) conceals(e hcl.Expression, ctx *hcl.EvalContext) bool {
	var read cty.ValueMarks
	diags := p.budget.Do(e.Range(), func() hcl.Diagnostics { read = bounded.Reads(e, ctx); return nil })
	return diags.HasErrors() || concealed(read)
}

// conceal removes details, and what they could be made from.
func conceal(diags diag.List) {
	for _, d := range diags {
		d.Detail, d.Extra, d.EvalContext = "The details are left out, because it reads a sensitive value or private content.", nil, nil
	}
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

// block is the state of a step block: its instances, and its value in the
// language, built when it is first needed.
type block struct {
	instances []*Instance // in the order of their keys
	keyed     bool
	value     cty.Value
}

// valueOf returns the value of a block: the object of its outputs, or with for_each a map
// of these.
func (ev *evaluator) valueOf(s *Step) cty.Value {
	b := ev.blocks[s]
	switch {
	case b == nil:
		return cty.DynamicVal // its own expansion failed
	case b.value != cty.NilVal:
	case !b.keyed:
		b.value = b.instances[0].value(ev.of(b.instances[0]).outputs)
	case len(b.instances) == 0:
		b.value = cty.MapValEmpty(outputsType(s.Kind))
	default:
		all := make(map[string]cty.Value, len(b.instances))
		for _, inst := range b.instances {
			if k := ev.of(inst); !k.held {
				all[inst.Addr.Key] = inst.value(k.outputs)
			}
		}
		if len(all) == 0 { // all are held
			b.value = cty.MapValEmpty(outputsType(s.Kind))
			break
		}
		b.value = cty.MapVal(all)
	}
	return b.value
}

// forget drops the values of blocks, which take much memory. They are built again
// if they are needed.
func (ev *evaluator) forget(list []*Step) {
	for _, s := range list {
		if b := ev.blocks[s]; b != nil {
			b.value = cty.NilVal
		}
	}
}

// lastReaders returns for each node, in order, the steps to which no later node
// refers.
func (p *Pipeline) lastReaders() [][]*Step {
	last := map[*Step]int{}
	for i, n := range p.order {
		for _, e := range n.expressions() {
			for _, t := range e.Variables() {
				if t.RootName() != "step" {
					continue
				}
				if s, _ := p.stepOf(t); s != nil {
					last[s] = i
				}
			}
		}
	}
	lists := make([][]*Step, len(p.order))
	for s, i := range last {
		lists[i] = append(lists[i], s)
	}
	return lists
}

func outputsType(k *step.Kind) cty.Type {
	types := make(map[string]cty.Type, len(k.Outputs))
	for _, o := range k.Outputs {
		types[o.Name] = o.Type
	}
	return cty.Object(types)
}

// value is the object of the outputs, each with its mark. known is nil until they are
// known.
func (inst *Instance) value(known cache.Outputs) cty.Value {
	outs := inst.Step.Kind.Outputs
	attrs := make(map[string]cty.Value, len(outs))
	for o := range outs {
		attrs[outs[o].Name] = inst.output(o, known)
	}
	return cty.ObjectVal(attrs)
}

// output is the value of one output with its mark.
func (inst *Instance) output(o int, known cache.Outputs) cty.Value {
	out := &inst.Step.Kind.Outputs[o]
	v := cty.UnknownVal(out.Type)
	if a := inst.artifacts[o]; a != nil {
		v = step.NewArtifact(a)
	} else if known != nil {
		v = smallValue(known[out.Name].JSON, out.Type)
	}
	return v.Mark(origin{inst: inst, out: o})
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

// refresh evaluates again, in order, what depends on values that have become
// known.
func (ev *evaluator) refresh() {
	if len(ev.stale) == 0 {
		return
	}
	for _, n := range ev.pipeline.order {
		name := n.String()
		switch {
		case n.step != nil:
			if ev.stale[name] {
				ev.blocks[n.step].value = cty.NilVal
			}
		case ev.dependsOnStale(n):
			// Diagnostics were reported by Expand; a value that now fails
			// stays unknown and fails where it is used.
			_ = ev.bind(n)
			ev.stale[name] = true
		}
	}
	clear(ev.stale)
}

func (ev *evaluator) dependsOnStale(n node) bool {
	return slices.ContainsFunc(n.expressions(), func(e hcl.Expression) bool { return slices.ContainsFunc(e.Variables(), ev.isStale) })
}

func (ev *evaluator) isStale(t hcl.Traversal) bool {
	return slices.ContainsFunc(ev.pipeline.nodeNames(t), func(name string) bool { return ev.stale[name] })
}
