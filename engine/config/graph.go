package config

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// Graph is an expanded pipeline: every instance with its arguments, in an order
// in which each comes after its dependencies.
type Graph struct {
	Pipeline *Pipeline
	// Instances are ordered by dependency, then as in the file, then by key.
	Instances []*Instance
	// Evaluation is the value of the evaluate block, or nil.
	Evaluation *plan.Evaluation
	// Publications are in the order of the file, those of output blocks last.
	Publications []Publication

	// expanded is the graph as it was expanded, which never changes. It is nil while
	// the pipeline is expanded.
	expanded *Graph
	// mu guards eval once the pipeline is expanded.
	mu   sync.RWMutex
	eval *evaluator
}

// Fresh returns the graph without anything that became known since its expansion.
// Every plan has its own.
func (g *Graph) Fresh() *Graph {
	if g.expanded != nil {
		g = g.expanded
	}
	return &Graph{Pipeline: g.Pipeline, Instances: slices.Clone(g.Instances), Evaluation: g.Evaluation, Publications: g.Publications,
		expanded: g, eval: g.eval.fresh(len(g.Instances))}
}

// Instance is one instance of a step block.
type Instance struct {
	Addr addr.Instance
	Step *Step
	// Deps are the indexes of the instances it depends on, ascending.
	Deps []int
	// Private says that it consumes private content, and Text that it reads such as text:
	// then its public outputs are private, too.
	Private, Text bool
	Limits        step.Limits
	// On names where it is to run; empty if its block names nothing.
	On    string
	Retry Retry
	// Dynamic says that an argument depends on a small value of another step, so
	// that the arguments are final only when that value is known.
	Dynamic bool

	index int
	// decides are the indexes of the instances that its condition reads. maySkip says that
	// a condition may leave it out.
	decides []int
	maySkip bool
	// steered are the marks of what decides that; see block.steered.
	steered cty.ValueMarks
	// consumes are the indexes of the instances whose outputs it consumes: those
	// of Deps except for which it merely waits.
	consumes []int
	// each is each.value; its key is that of the address. marks are those of the key:
	// that the instance exists depends on where they come from.
	each  cty.Value
	marks cty.ValueMarks
	// args are the values of arguments and blocks, in the order of the kind.
	args []cty.Value
	// artifacts are its outputs that are content, as expressions see them: their
	// content is never known. See evaluator.resolve.
	artifacts []*step.Artifact
}

// Find returns the index of an instance, or false.
func (g *Graph) Find(a addr.Instance) (int, bool) {
	b := g.eval.blocks[g.Pipeline.byAddr[a.Step]]
	if b == nil || len(b.instances) == 0 || b.keyed != a.HasKey {
		return 0, false
	}
	if !a.HasKey {
		return b.instances[0].index, true
	}
	i, ok := b.find(a.Key)
	return b.instances[0].index + i, ok
}

// Select returns which instances a target selects: one instance, or all of a
// block if the address has no key. It is nil if there are none.
func (g *Graph) Select(a addr.Instance) []int {
	if i, ok := g.Find(a); ok {
		return []int{i}
	}
	s := g.Pipeline.byAddr[a.Step]
	if s == nil || a.HasKey {
		return nil
	}
	b := g.eval.blocks[s]
	return lists.Of(b.instances, func(inst *Instance) int { return inst.index })
}

// Args returns the arguments of instance i, with what is known now of the content.
// They are final once the outputs of all its dependencies are known. Nothing changes
// them later.
func (g *Graph) Args(i int) (step.Args, diag.List) {
	inst := g.Instances[i]
	if !inst.Dynamic {
		g.mu.RLock()
		defer g.mu.RUnlock()
		return g.eval.arguments(inst, inst.args), nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Pipeline.budget.Reset()
	g.eval.refresh()
	scope := g.eval.scope(inst.Step.expressions())
	args, found, diags := g.eval.evaluateArgs(inst, inst.Step.short, func() *hcl.EvalContext { return inst.context(scope) })
	if diags.HasErrors() && inst.maySkip {
		for _, d := range diags {
			d.Detail += " Steps that a condition when left out are not in the map of their block: refer to all that ran, as in values(step.grade.score)."
		}
	}
	if !diags.HasErrors() {
		failed, _ := g.eval.preconditions(inst, func() *hcl.EvalContext { return inst.context(scope) })
		diags = append(append(diags, g.expanded.Instances[i].checkKnown(found)...), failed...)
	}
	return g.eval.arguments(inst, args), diags
}

// Names returns the names of instance i for people; see step.Kind. It returns nil if they
// are the parts of its key, if its kind has none, and for a step that reads private text.
func (g *Graph) Names(i int) []string {
	inst := g.Instances[i]
	if inst.Step.Kind.Names == nil || inst.Text {
		return nil
	}
	names := inst.Step.Kind.Names(step.NewArgs(inst.Step.argNames, inst.args))
	if strings.Join(names, "/") == inst.Addr.Key {
		return nil
	}
	return names
}

// Known reports whether every argument of i was known when the pipeline was
// expanded; content counts as known.
func (g *Graph) Known(i int) bool { return !g.Instances[i].Dynamic }

// OutputValue is the value of an output block.
type OutputValue struct {
	// Value has digests instead of content.
	Value cty.Value
	// Known is false while it depends on something that has not run.
	Known bool
	// Content is set if the whole value is content.
	Content *step.Artifact
	// Private names private content of which it is made, or is empty.
	Private string
}

// OutputValue evaluates an output block.
func (g *Graph) OutputValue(o *Output) (out OutputValue, diags diag.List) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Pipeline.budget.Reset()
	g.eval.refresh()
	v, diags := g.eval.alone(o.Value)
	if diags.HasErrors() {
		return out, diags
	}
	if diags := checkOutput(o, v); diags.HasErrors() {
		return out, diags
	}
	marks := map[any]struct{}{}
	v = unmark(v, marks)
	out.Private = hidden(marks)
	v = g.eval.resolve(v)
	out.Content = artifactOf(v)
	v, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		a := artifactOf(v)
		switch {
		case a == nil:
			return v, nil
		case a.Ref.IsZero():
			return cty.UnknownVal(cty.String), nil
		}
		return cty.StringVal(string(a.Ref.Kind) + ":" + a.Ref.ID.String()), nil
	})
	if err != nil {
		return OutputValue{}, diag.List{diag.Error(o.Value.Range(), "Invalid output", "%s", err)}
	}
	out.Value, out.Known = v, v.IsWhollyKnown()
	return out, nil
}

// OutputInstances returns the instances that an output block's value is made
// from, ascending.
func (g *Graph) OutputInstances(o *Output) []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, diags := g.eval.alone(o.Value)
	if diags.HasErrors() {
		return nil
	}
	return dependsOn(originsOf(marksOf(v)))
}

// artifactOf returns the content that v is, or nil.
func artifactOf(v cty.Value) *step.Artifact {
	if v.Type() != step.ArtifactType || v.IsNull() || !v.IsKnown() {
		return nil
	}
	return v.EncapsulatedValue().(*step.Artifact)
}

// checkOutput rejects what must not be shown.
func checkOutput(o *Output, v cty.Value) diag.List {
	if _, found := marksOf(v)[sensitive]; found {
		return diag.List{diag.Error(o.Value.Range(), "Sensitive output", "The output %q depends on a sensitive variable, and outputs are shown and stored.", o.Name)}
	}
	if what := hidden(shownMarks(v)); what != "" {
		return diag.List{diag.Error(o.Value.Range(), "Private output", "The output %q is made from %s, which is private: it holds answers or was made from them. Outputs are shown and stored. Give it to a step, or publish that step's outputs with private = true.", o.Name, what)}
	}
	if infinite(v) {
		return diag.List{outOfRange(o.Value)}
	}
	return nil
}

// knowledge is what one plan knows about an instance.
type knowledge struct {
	outputs cache.Outputs
	// conditions are the conditions of its outputs.
	conditions []string
	// expected is the size that its step expects of its content.
	expected int64
	// held says that it will not run; see Graph.Hold.
	held bool
	// skipped says so because of a condition; see Graph.Skip.
	skipped bool
}

// fresh returns a copy for a plan, which knows nothing yet of n instances.
func (ev *evaluator) fresh(n int) *evaluator {
	own := *ev
	own.values = make(map[string]map[string]cty.Value, len(ev.values))
	for root, values := range ev.values {
		own.values[root] = maps.Clone(values)
	}
	own.forEach, own.stale = maps.Clone(ev.forEach), map[string]bool{}
	own.blocks = make(map[*Step]*block, len(ev.blocks))
	for s, b := range ev.blocks {
		own.blocks[s] = &block{instances: b.instances, keyed: b.keyed}
	}
	own.known = make([]knowledge, n)
	return &own
}

// of returns what is known about an instance: nothing while the pipeline is expanded.
func (ev *evaluator) of(inst *Instance) (k knowledge) {
	if inst.index < len(ev.known) {
		k = ev.known[inst.index]
	}
	return k
}

// resolve returns a value with what is known of its content, in place of the content
// as expressions see it. The result has its own artifacts, which do not change.
func (ev *evaluator) resolve(v cty.Value) cty.Value {
	ty := v.Type()
	if v.IsNull() || !v.IsKnown() || !step.HoldsContent(ty) || ty.IsSetType() {
		return v
	}
	if a := artifactOf(v); a != nil {
		if a.Local != nil {
			return v
		}
		own, k := *a, &ev.known[a.Producer]
		if _, made := k.outputs[a.Output]; !made && k.outputs != nil {
			return cty.NullVal(step.ArtifactType)
		}
		own.Ref, own.Expected, own.Conditions = k.outputs[a.Output].Ref, k.expected, k.conditions
		return step.NewArtifact(&own)
	}
	if ty.IsMapType() || ty.IsObjectType() {
		all := v.AsValueMap()
		for name, elem := range all {
			all[name] = ev.resolve(elem)
		}
		if ty.IsObjectType() {
			return cty.ObjectVal(all)
		}
		return mapOf(ty.ElementType(), all)
	}
	switch list := lists.Of(v.AsValueSlice(), ev.resolve); {
	case len(list) == 0:
		return v
	case ty.IsTupleType():
		return cty.TupleVal(list)
	default:
		return cty.ListVal(list)
	}
}

// arguments are values that evaluateArgs returned as arguments.
func (ev *evaluator) arguments(inst *Instance, values []cty.Value) step.Args {
	args := step.NewArgs(inst.Step.argNames, lists.Of(values, ev.resolve))
	args.Limits, args.Conditions = inst.Limits, ev.consumed(inst)
	return args
}

// consumed returns the conditions of what an instance consumes, as far as they are
// known.
func (ev *evaluator) consumed(inst *Instance) []string {
	var all []string
	for _, d := range inst.consumes {
		if c := ev.known[d].conditions; !slices.Equal(all, c) {
			all = step.UnionConditions(all, c)
		}
	}
	return all
}

// SetOutputs makes the outputs of instance i known to its dependents, or unknown if
// they are nil. It must be called before the Args of any of them.
func (g *Graph) SetOutputs(i int, outputs cache.Outputs) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.eval.known[i].outputs = outputs
	if inst := g.Instances[i]; slices.Contains(inst.artifacts, nil) { // a small value
		g.eval.stale[inst.Step.Addr.String()] = true
	}
}

func (g *Graph) known(i int) knowledge {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.eval.known[i]
}

// Outputs returns what SetOutputs recorded for instance i, or nil.
func (g *Graph) Outputs(i int) cache.Outputs { return g.known(i).outputs }

// SetConditions records the conditions of the outputs of instance i. Like
// SetOutputs, it must be called before the Args of a dependent.
func (g *Graph) SetConditions(i int, conditions []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.eval.known[i].conditions = conditions
}

// Conditions returns what SetConditions recorded.
func (g *Graph) Conditions(i int) []string { return g.known(i).conditions }

// Consumed returns the conditions of what instance i consumes, as far as they
// are recorded.
func (g *Graph) Consumed(i int) []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.eval.consumed(g.Instances[i])
}

// Expect records the expected size of the content that instance i produces, for
// the estimates of its dependents. It says nothing about one of several outputs.
func (g *Graph) Expect(i int, bytes int64) {
	content := 0
	for _, a := range g.Instances[i].artifacts {
		if a != nil {
			content++
		}
	}
	if content == 1 {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.eval.known[i].expected = bytes
	}
}
