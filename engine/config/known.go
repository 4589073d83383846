package config

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/step"
)

// knowledge is what one plan knows about an instance.
type knowledge struct {
	outputs cache.Outputs
	// conditions are the conditions of its outputs.
	conditions []string
	// expected is the size that its step expects of its content.
	expected int64
	// held says that it will not run; see Graph.Hold.
	held bool
}

// fresh returns a copy for a plan, which knows nothing yet of n instances.
func (ev *evaluator) fresh(n int) *evaluator {
	own := *ev
	own.locals, own.models, own.agents = maps.Clone(ev.locals), maps.Clone(ev.models), maps.Clone(ev.agents)
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
		if len(all) == 0 {
			return v
		}
		return cty.MapVal(all)
	}
	list := v.AsValueSlice()
	for i, elem := range list {
		list[i] = ev.resolve(elem)
	}
	switch {
	case len(list) == 0:
		return v
	case ty.IsTupleType():
		return cty.TupleVal(list)
	}
	return cty.ListVal(list)
}

// arguments are values that evaluateArgs returned as arguments.
func (ev *evaluator) arguments(inst *Instance, values []cty.Value) step.Args {
	resolved := make([]cty.Value, len(values))
	for i, v := range values {
		resolved[i] = ev.resolve(v)
	}
	args := step.NewArgs(inst.Step.argNames, resolved)
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

// Outputs returns what SetOutputs recorded for instance i, or nil.
func (g *Graph) Outputs(i int) cache.Outputs {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.eval.known[i].outputs
}

// SetConditions records the conditions of the outputs of instance i. Like
// SetOutputs, it must be called before the Args of a dependent.
func (g *Graph) SetConditions(i int, conditions []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.eval.known[i].conditions = conditions
}

// Conditions returns what SetConditions recorded.
func (g *Graph) Conditions(i int) []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.eval.known[i].conditions
}

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
