package config

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/bounded"
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
		inst.Dynamic = slices.ContainsFunc(inst.args, func(v cty.Value) bool { return !v.IsWhollyKnown() })
	}
	set, more := x.limited(inst.Step, child)
	inst.Limits, inst.Retry, inst.On = set.limits, set.retry, set.on
	for _, r := range set.read {
		eval.consume(r)
	}
	eval.consume(reading{"for_each", inst.Step.ForEach, inst.marks})
	inst.Private, inst.Text, inst.consumes = eval.private != "", eval.text, dependsOn(eval.origins)
	diags := append(eval.diags, more...)
	inst.Deps = inst.consumes
	if len(inst.Step.Before)+len(inst.Step.After) > 0 {
		waits, more := x.rules(inst, child)
		diags = append(diags, more...)
		inst.Deps = distinct(slices.Concat(waits, inst.Deps))
	}
	if e := inst.Step.DependsOn; e != nil {
		before := inst.Deps
		waits, more := x.waits(e, child)
		diags = append(diags, more...)
		inst.Deps = waits
		if len(before) > 0 {
			inst.Deps = distinct(slices.Concat(waits, before))
		}
	}
	if inst.Step.When != nil {
		diags = append(diags, x.when(inst, child)...)
	}
	x.steer(inst)
	if x.edges.Add(int64(len(inst.Deps))) > maxEdges {
		diags = append(diags, diag.Error(inst.Step.Range, "Too many dependencies", "With those of %s the pipeline has more than %d dependencies between instances. Refer to single instances, or put a step in between.", inst.Addr, maxEdges))
	}
	return diags
}

// rules checks the preconditions of an instance that are known, and returns the
// instances that its rules read. What an untrusted kind cannot have, they cannot read:
// whether it runs would say it.
func (x *expansion) rules(inst *Instance, ctx func() *hcl.EvalContext) ([]int, diag.List) {
	e := argEval{ev: x.evaluator, inst: inst, shared: x.shared, ctx: ctx, marks: map[any]struct{}{}}
	for _, expr := range slices.Concat(ruleExprs(inst.Step.Before), ruleExprs(inst.Step.After)) {
		var marks cty.ValueMarks
		e.diags = append(e.diags, x.pipeline.budget.Do(expr.Range(), func() hcl.Diagnostics { marks = bounded.Reads(expr, ctx()); return nil })...)
		e.consume(reading{"A condition", expr, marks})
		inst.Text = inst.Text || isText(marks)
	}
	inst.Private = inst.Private || e.private != ""
	diags, waits := x.preconditions(inst, ctx)
	inst.Dynamic = inst.Dynamic || waits
	return dependsOn(e.origins), append(e.diags, diags...)
}

// preconditions checks those that are known; waits reports whether others are not.
func (ev *evaluator) preconditions(inst *Instance, ctx func() *hcl.EvalContext) (diags diag.List, waits bool) {
	value := func(e hcl.Expression) (cty.Value, diag.List) { return ev.evaluate(e, ctx()) }
	for _, rule := range inst.Step.Before {
		if v, more := value(rule.Condition); !more.HasErrors() && !v.IsKnown() {
			waits = true
			continue
		}
		diags = append(diags, ev.pipeline.check([]Validation{rule}, "Precondition of "+inst.Addr.String(), value)...)
	}
	return diags, waits
}

// Postconditions checks the result of instance i, once its outputs are known.
func (g *Graph) Postconditions(i int) diag.List {
	inst := g.Instances[i]
	if len(inst.Step.After) == 0 {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Pipeline.budget.Reset()
	g.eval.refresh()
	ctx := inst.context(g.eval.scope(ruleExprs(inst.Step.After))).NewChild()
	ctx.Variables = map[string]cty.Value{"self": inst.value(g.eval.of(inst).outputs)}
	return g.Pipeline.check(inst.Step.After, "Postcondition of "+inst.Addr.String(), func(e hcl.Expression) (cty.Value, diag.List) { return g.eval.evaluate(e, ctx) })
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
	if !x.shared.same(e) {
		return evaluate()
	}
	return x.shared.waits.of(evaluate)
}

// limited returns the limits of an instance. If none refers to each, they are the
// same for all instances of the block.
func (x *expansion) limited(s *Step, ctx func() *hcl.EvalContext) (limited, diag.List) {
	evaluate := func() (limited, diag.List) { return x.limits(s, ctx) }
	if slices.ContainsFunc(s.limits(), func(e hcl.Expression) bool { return !x.shared.same(e) }) {
		return evaluate()
	}
	return x.shared.limits.of(evaluate)
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
	return distinct(lists.Of(origins, func(o origin) int { return o.inst.index }))
}

func distinct(list []int) []int {
	slices.Sort(list)
	return slices.Clip(slices.Compact(list))
}

// shared is what the instances of a block have in common while they are expanded.
type shared struct {
	shortcuts map[hcl.Expression]shortcut
	// alike are the values of the expressions that refer to nothing of each but attributes
	// of each.value.
	alike map[hcl.Expression]*alike
	// each says that some expression of the block refers to each.
	each bool
	// waits are the instances that depends_on names, if all wait for the same.
	waits once[[]int]
	// limits are those of all instances, if they are the same.
	limits once[limited]
	// commands are what is wrong with the commands, if all instances have the same.
	commands once[struct{}]
}

// once holds a result that all instances share, after the first of them has evaluated it.
// Each gets its own diagnostics.
type once[T any] struct {
	sync.Once
	result T
	diags  diag.List
}

func (o *once[T]) of(evaluate func() (T, diag.List)) (T, diag.List) {
	o.Do(func() { o.result, o.diags = evaluate() })
	return o.result, copyDiags(o.diags)
}

// same reports whether all instances have the same value of an expression, or none.
func (s *shared) same(e hcl.Expression) bool {
	m := s.alike[e]
	return e == nil || m != nil && len(m.attributes) == 0
}

func refersToEach(e hcl.Expression) bool {
	return refersTo(e, "each")
}

func refersTo(e hcl.Expression, root string) bool {
	return slices.ContainsFunc(e.Variables(), func(t hcl.Traversal) bool { return t.RootName() == root })
}

// checkCommand finds files of the pipeline's folder that a command names but
// that are not declared. The command runs elsewhere, and editing such a file
// would not run it again. That is an error if the name can mean nothing else,
// and a warning if it may be a file in an image or one that the command
// creates. declared are the declared paths and outputs.
func checkCommand(p *Pipeline, r hcl.Range, command, declared []string, image bool) (diags diag.List) {
	for i, word := range command {
		if i == 0 && word == "mleflow" { // this program, also where its archive was unpacked
			continue
		}
		for _, name := range p.local.Named(word) {
			if isDeclared(name, declared) {
				continue
			}
			advice := fmt.Sprintf("Declare it, and use its path where the command runs: files = { %q = %q }, and %q in the command. ", path.Base(name), name, path.Base(name))
			const why = "Its content is not an input, so the step would not run again after an edit."
			if filepath.IsAbs(word) || strings.Contains(word, folderOf(p.Path)) || !image && i < 2 && word == name {
				diags = append(diags, diag.Error(r, "Undeclared file in a command", "The command names %s, which is in the pipeline's folder. %s%s", name, advice, why))
			} else {
				diags = append(diags, diag.Warning(r, "Perhaps an undeclared file in a command",
					"The command names %q, and the pipeline's folder contains a file of that name. If you mean that file: %s%s", name, advice, why))
			}
		}
	}
	return diags
}

// isDeclared reports whether a path is declared or below a declared one.
func isDeclared(name string, declared []string) bool {
	return slices.ContainsFunc(declared, func(d string) bool {
		d = path.Clean(d)
		return d == "." || name == d || path.Base(name) == d || strings.HasPrefix(name, d+"/")
	})
}

// checkCommands checks the arguments of an instance that are commands, once if
// all instances of the block have the same.
func (x *expansion) checkCommands(inst *Instance, args []cty.Value) diag.List {
	s := inst.Step
	for i := range s.Kind.Args {
		a := &s.Kind.Args[i]
		if (a.Command || declares(a)) && !x.shared.same(s.Args[a.Name]) {
			return checkOwnCommands(x.pipeline, inst, args)
		}
	}
	_, diags := x.shared.commands.of(func() (struct{}, diag.List) { return struct{}{}, checkOwnCommands(x.pipeline, inst, args) })
	return diags
}

// declares reports whether an argument names files that a command may use.
func declares(a *step.Attr) bool { return a.Name == "files" || a.Name == "outputs" }

func checkOwnCommands(p *Pipeline, inst *Instance, args []cty.Value) (diags diag.List) {
	var declared []string
	for i := range inst.Step.Kind.Args {
		if declares(&inst.Step.Kind.Args[i]) {
			declared = append(declared, namesIn(args[i])...)
		}
	}
	for i := range inst.Step.Kind.Args {
		a := &inst.Step.Kind.Args[i]
		if e := inst.Step.Args[a.Name]; a.Command && e != nil {
			diags = append(diags, checkCommand(p, e.Range(), texts(args[i]), declared, false)...)
		}
	}
	return diags
}

// namesIn returns the keys of a map, or the strings of a list.
func namesIn(v cty.Value) (list []string) {
	v, _ = v.UnmarkDeep()
	if v.IsNull() || !v.IsKnown() || !v.Type().IsMapType() {
		return texts(v)
	}
	for it := v.ElementIterator(); it.Next(); {
		key, _ := it.Element()
		list = append(list, key.AsString())
	}
	return list
}
