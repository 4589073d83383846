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

	vars map[string]cty.Value
	// values are those of locals, models and agents, by root and name.
	values map[string]map[string]cty.Value

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
func (ev *evaluator) bind(n node) diag.List {
	v, diags := n.value(ev)
	if ev.values[n.root] == nil {
		ev.values[n.root] = map[string]cty.Value{}
	}
	ev.values[n.root][n.name] = v
	return diags
}

// alone evaluates an expression in its own scope.
func (ev *evaluator) alone(e hcl.Expression) (cty.Value, diag.List) {
	return ev.evaluate(e, ev.scope([]hcl.Expression{e}))
}

// scope builds the names that an expression refers to, and no others, so that a
// block with many instances only costs those who use it.
func (ev *evaluator) scope(exprs []hcl.Expression) *hcl.EvalContext {
	steps := map[string]map[string]cty.Value{}
	locals := map[string]map[string]cty.Value{}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: ev.pipeline.funcs}
	for t := range traversals(exprs) {
		switch root := t.RootName(); baseOf(root) {
		case "agent", "model", "benchmark":
			ctx.Variables[root] = cty.ObjectVal(ev.values[root])
		case "var", "local", "output":
			if root == "var" {
				ctx.Variables[root] = cty.ObjectVal(ev.vars)
				continue
			}
			if locals[root] == nil {
				locals[root] = map[string]cty.Value{}
			}
			for _, name := range memberNodes(t, "", ev.values[root]) {
				if v, ok := ev.values[root][name]; ok {
					locals[root][name] = v
				}
			}
		case "path":
			ctx.Variables[root] = cty.ObjectVal(map[string]cty.Value{"pipeline": cty.StringVal(folderOf(ev.pipeline.Path)), "module": cty.StringVal(ev.pipeline.folders[root])})
		case "step":
			ev.addStep(steps, t)
		}
	}
	for root, values := range locals {
		if len(values) > 0 {
			ctx.Variables[root] = cty.ObjectVal(values)
		}
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
	default:
		all := make(map[string]cty.Value, len(b.instances))
		for _, inst := range b.instances {
			if k := ev.of(inst); !k.held && !k.skipped {
				all[inst.Addr.Key] = inst.value(k.outputs)
			}
		}
		b.value = withMarks(mapOf(outputsType(s.Kind), all), b.steered())
	}
	return b.value
}

// lastReaders returns for each node, in order, the steps to which no later node
// refers.
func (p *Pipeline) lastReaders() [][]*Step {
	last := map[string]int{}
	for i, n := range p.order {
		for _, name := range n.reads {
			last[name] = i
		}
	}
	lists := make([][]*Step, len(p.order))
	for _, n := range p.order {
		if i, read := last[n.String()]; read && n.step != nil {
			lists[i] = append(lists[i], n.step)
		}
	}
	return lists
}

// mapOf returns a map, which may be empty.
func mapOf(elem cty.Type, all map[string]cty.Value) cty.Value {
	if len(all) == 0 {
		return cty.MapValEmpty(elem)
	}
	return cty.MapVal(all)
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
		case slices.ContainsFunc(n.reads, func(name string) bool { return ev.stale[name] }):
			// Diagnostics were reported by Expand; a value that now fails
			// stays unknown and fails where it is used.
			_ = ev.bind(n)
			ev.stale[name] = true
		}
	}
	clear(ev.stale)
}
