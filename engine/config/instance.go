package config

import (
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// expansion expands the instances of one block, in parallel.
type expansion struct {
	*expander
	// ctx has the names that the block refers to, except each.
	ctx    *hcl.EvalContext
	shared *shared
}

func (x *expansion) instance(inst *Instance) diag.List {
	if x.edges.Load() > maxEdges {
		return nil // another instance has the error
	}
	var own *hcl.EvalContext // of the instance, made if something needs it
	child := func() *hcl.EvalContext {
		if !x.shared.each {
			return x.ctx
		}
		if own == nil {
			own = inst.context(x.ctx)
		}
		return own
	}
	eval := argEval{ev: x.evaluator, inst: inst, shared: x.shared, ctx: child, marks: map[any]struct{}{}}
	inst.args = eval.all()
	if !eval.diags.HasErrors() {
		eval.diags = append(eval.diags, x.checkCommands(inst, inst.args)...)
		inst.Dynamic = x.dynamic(inst)
	}
	set := x.limited(inst.Step, child)
	inst.Limits, inst.Retry, inst.On = set.limits, set.retry, set.on
	for _, r := range set.read {
		eval.consume(r)
	}
	eval.consume(reading{"for_each", inst.Step.ForEach, inst.marks})
	inst.Private, inst.Text, inst.consumes = eval.private != "", eval.text, dependsOn(eval.origins)
	diags := append(eval.diags, set.diags...)
	inst.Deps = inst.consumes
	if e := inst.Step.DependsOn; e != nil {
		waits, more := x.waits(e, child)
		diags = append(diags, more...)
		inst.Deps = waits
		if len(inst.consumes) > 0 {
			inst.Deps = distinct(slices.Concat(waits, inst.consumes))
		}
	}
	if x.edges.Add(int64(len(inst.Deps))) > maxEdges {
		diags = append(diags, diag.Error(inst.Step.Range, "Too many dependencies", "With those of %s the pipeline has more than %d dependencies between instances. Refer to single instances, or put a step in between.", inst.Addr, maxEdges))
	}
	return diags
}

// waits returns the instances that depends_on names. If it does not refer to each,
// they are the same for all instances of the block.
func (x *expansion) waits(e hcl.Expression, ctx func() *hcl.EvalContext) ([]int, diag.List) {
	evaluate := func() ([]int, diag.List) {
		marks := map[any]struct{}{}
		v, diags := x.evaluate(e, ctx())
		unmark(v, marks)
		return dependsOn(originsOf(marks)), diags
	}
	if refersToEach(e) {
		return evaluate()
	}
	s := x.shared
	s.waits.once.Do(func() { s.waits.deps, s.waits.diags = evaluate() })
	return s.waits.deps, copyDiags(s.waits.diags)
}

// limited returns the limits of an instance. If none refers to each, they are the
// same for all instances of the block.
func (x *expansion) limited(s *Step, ctx func() *hcl.EvalContext) limited {
	if slices.ContainsFunc(s.limits(), refersToEach) {
		return x.limits(s, ctx)
	}
	same := &x.shared.limits
	same.once.Do(func() { same.limited = x.limits(s, ctx) })
	set := same.limited
	set.diags = copyDiags(set.diags)
	return set
}

// dynamic reports whether an argument of an instance is not wholly known.
func (x *expansion) dynamic(inst *Instance) bool {
	for i, v := range inst.args {
		if i < len(inst.Step.Kind.Args) && x.shared.final(inst.Step.Args[inst.Step.Kind.Args[i].Name]) {
			continue
		}
		if !v.IsWhollyKnown() {
			return true
		}
	}
	return false
}

// checkKnown refuses what an instance turns out to consume once its values are known, if
// the plan did not expect it: others rely on what the plan knew.
func (inst *Instance) checkKnown(found consumed) diag.List {
	const detail = "%s turns out to consume %s, which could not be foreseen. Write the path or reference so that it is known before anything runs."
	for _, o := range found.origins {
		if _, expected := slices.BinarySearch(inst.consumes, o.inst.index); !expected {
			return diag.List{diag.Error(inst.Step.Range, "Dependency found too late", detail, inst.Addr, o)}
		}
	}
	if found.private != "" && !inst.Private || found.text && !inst.Text {
		return diag.List{diag.Error(inst.Step.Range, "Private content found too late", detail, inst.Addr, "private content, "+found.private)}
	}
	return nil
}

func (inst *Instance) context(ctx *hcl.EvalContext) *hcl.EvalContext {
	if !inst.Addr.HasKey {
		return ctx
	}
	return element{inst.Addr.Key, inst.each, inst.marks}.context(ctx)
}

// dependsOn returns the distinct instances of the origins, in ascending order.
func dependsOn(origins []origin) []int {
	deps := make([]int, 0, len(origins))
	for _, o := range origins {
		deps = append(deps, o.inst.index)
	}
	return distinct(deps)
}

func distinct(list []int) []int {
	slices.Sort(list)
	return slices.Clip(slices.Compact(list))
}

// shared is what the instances of a block have in common while they are expanded.
type shared struct {
	shortcuts map[hcl.Expression]shortcut
	// values are those of the arguments that do not refer to each.
	values map[hcl.Expression]evaluated
	// alike are the values of those that refer to some attributes of each.value.
	alike map[hcl.Expression]*alike
	// each says that some expression of the block refers to each.
	each bool
	// waits are the instances that depends_on names, if all wait for the same.
	waits struct {
		once  sync.Once
		deps  []int
		diags diag.List
	}
	// limits are those of all instances, if they are the same.
	limits struct {
		once sync.Once
		limited
	}
	// commands are what is wrong with the commands, if all instances have the same.
	commands struct {
		once  sync.Once
		diags diag.List
	}
}

// evaluated is the value of an expression before its marks were removed.
type evaluated struct {
	value cty.Value
	diags diag.List
	// final says that it is the argument of every instance as it is: known, without
	// marks, of the right type and allowed.
	final bool
}

// has reports whether all instances have the same value of an expression, or none.
func (s *shared) has(e hcl.Expression) bool {
	if s == nil {
		return false
	}
	_, ok := s.values[e]
	return ok || e == nil
}

// final reports whether the value of an expression is final.
func (s *shared) final(e hcl.Expression) bool { return s != nil && e != nil && s.values[e].final }

// evaluateOnce evaluates the arguments of a block that are the same for all
// instances, since they do not refer to each.
func (x *expander) evaluateOnce(s *Step, ctx *hcl.EvalContext, short map[hcl.Expression]shortcut) map[hcl.Expression]evaluated {
	once := map[hcl.Expression]evaluated{}
	add := func(attrs []step.Attr, exprs map[string]hcl.Expression) {
		for i := range attrs {
			e := exprs[attrs[i].Name]
			if e == nil || refersToEach(e) {
				continue
			}
			var v cty.Value
			var diags diag.List
			if short, ok := short[e]; ok {
				v = short.value(nil)
			} else {
				v, diags = x.evaluate(e, ctx)
			}
			final := false
			if !diags.HasErrors() && !v.ContainsMarked() {
				if out, _, text := converted(v, attrs[i].Type); text == "" {
					v = out
					final = len(diags) == 0 && !attrs[i].Files && !v.IsNull() && v.IsWhollyKnown() && allowed(&attrs[i], v)
				}
			}
			once[e] = evaluated{v, diags, final}
		}
	}
	add(s.Kind.Args, s.Args)
	for i := range s.Kind.Blocks {
		add(s.Kind.Blocks[i].Args, s.Blocks[s.Kind.Blocks[i].Name])
	}
	return once
}

func refersToEach(e hcl.Expression) bool {
	return slices.ContainsFunc(e.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "each" })
}
