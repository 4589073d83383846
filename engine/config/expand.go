package config

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/internal/parallel"
	"github.com/mleflow/mleflow/engine/step"
)

// maxInstances is the largest number of instances of a pipeline, maxEdges that of
// dependencies between them.
const maxInstances, maxEdges = 250_000, 10_000_000

// Expand evaluates the pipeline with the given values of its variables.
func (p *Pipeline) Expand(values map[string]cty.Value) (*Graph, diag.List) {
	g := &Graph{Pipeline: p, eval: &evaluator{
		pipeline: p, vars: values,
		values: map[string]map[string]cty.Value{"local": {}, "model": {}, "agent": {}, "benchmark": {}},
		blocks: map[*Step]*block{}, forEach: map[string][]element{}, stale: map[string]bool{},
	}}
	x := expander{evaluator: g.eval, graph: g}
	last := p.lastReaders()
	var diags diag.List
	for i, n := range p.order {
		expand := x.bind
		if n.step != nil {
			expand = x.expandStep
		}
		if diags = append(diags, expand(n)...); p.budget.Passed() {
			return g, diags
		}
		for _, s := range last[i] { // their values take much memory, and are built again if they are needed
			if b := x.blocks[s]; b != nil {
				b.value = cty.NilVal
			}
		}
	}
	if first := slices.DeleteFunc(slices.Clone(diags), func(d *hcl.Diagnostic) bool { return d.Extra == followsError }); first.HasErrors() {
		return g, first
	}
	if !diags.HasErrors() {
		for _, o := range p.Outputs {
			v, more := x.alone(o.Value)
			diags = append(diags, more...)
			if !more.HasErrors() {
				diags = append(diags, checkOutput(o, v)...)
			}
		}
		diags = append(diags, g.checkMovedKeys()...)
		diags = append(diags, evaluation(g)...)
		diags = append(diags, publications(g)...)
	}
	return g.Fresh(), diags
}

// expander fills a graph with the instances of step blocks.
type expander struct {
	*evaluator
	graph *Graph
	edges atomic.Int64 // dependencies of the whole pipeline
}

func (x *expander) expandStep(n node) diag.List {
	s := n.step
	var exprs []hcl.Expression
	for _, e := range s.expressions() {
		if e != s.ForEach {
			exprs = append(exprs, e)
		}
	}
	elements := []element{{}}
	if s.ForEach != nil {
		var diags diag.List
		elements, diags = x.elements(s.ForEach)
		if diags.HasErrors() {
			return diags
		}
	}
	if len(x.graph.Instances)+len(elements) > maxInstances {
		return diag.List{diag.Error(s.Range, "Too many instances", "With the %d instances of this step the pipeline has more than %d. Split it into several pipelines.", len(elements), maxInstances)}
	}
	instances := x.addInstances(s, elements)
	x.blocks[s] = &block{instances: instances, keyed: s.ForEach != nil, value: cty.NilVal}
	if len(instances) == 0 {
		return nil
	}
	short, alike := x.shortcuts(exprs, instances), alikes(exprs, len(instances))
	for _, e := range slices.Concat(ruleExprs(s.Before), ruleExprs(s.After), written(s.When)) {
		delete(short, e)
	}
	exprs = slices.DeleteFunc(exprs, func(e hcl.Expression) bool { _, ok := short[e]; return ok })
	block := expansion{expander: x, ctx: x.scope(exprs)}
	block.shared = &shared{shortcuts: short, alike: alike, each: slices.ContainsFunc(exprs, refersToEach)}
	if s.short = nil; slices.ContainsFunc(x.pipeline.Steps, func(s *Step) bool { return s.When != nil }) {
		s.short = &shared{shortcuts: short}
	}
	found := make([]diag.List, len(elements))
	parallel.For(len(elements), func(i int) {
		found[i] = block.instance(instances[i])
	})
	var diags diag.List
	for _, more := range found {
		if len(diags) > 20 { // one error for all keys is enough
			break
		}
		diags = append(diags, more...)
	}
	return diags
}

// addInstances adds the instances of a block. There may be very many, so they and
// their content are allocated at once.
func (x *expander) addInstances(s *Step, elements []element) []*Instance {
	s.argNames = s.Kind.ArgNames()
	outs := s.Kind.Outputs
	content := 0
	for o := range outs {
		if outs[o].Type == step.ArtifactType {
			content++
		}
	}
	instances := make([]Instance, len(elements))
	slots := make([]*step.Artifact, len(outs)*len(elements))
	artifacts := make([]step.Artifact, content*len(elements))
	g := x.graph
	first := len(g.Instances)
	g.Instances = slices.Grow(g.Instances, len(elements))
	for i, el := range elements {
		inst := &instances[i]
		*inst = Instance{Step: s, Addr: addr.Single(s.Addr), index: len(g.Instances)}
		if s.ForEach != nil {
			inst.Addr = addr.Keyed(s.Addr, el.key)
			inst.each, inst.marks = el.value, el.marks
		}
		inst.artifacts, slots = slots[:len(outs):len(outs)], slots[len(outs):]
		from := ""
		if content > 0 {
			from = inst.Addr.String()
		}
		for o := range outs {
			if outs[o].Type == step.ArtifactType {
				artifacts[0] = step.Artifact{From: from, Output: outs[o].Name, Producer: inst.index}
				inst.artifacts[o], artifacts = &artifacts[0], artifacts[1:]
			}
		}
		g.Instances = append(g.Instances, inst)
	}
	return g.Instances[first:]
}

// element is one element of a for_each.
type element struct {
	key   string
	value cty.Value
	// marks are those of the key.
	marks cty.ValueMarks
}

func (e element) context(ctx *hcl.EvalContext) *hcl.EvalContext {
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": withMarks(cty.StringVal(e.key), e.marks), "value": e.value})}
	return child
}

// elements evaluates the for_each of a block. Blocks over the same local
// value share the list, which takes long to sort when it is long.
func (ev *evaluator) elements(e hcl.Expression) ([]element, diag.List) {
	name := localName(e)
	if list, ok := ev.forEach[name]; ok {
		return list, nil
	}
	list, diags := ev.evaluateElements(e)
	if name != "" && !diags.HasErrors() {
		ev.forEach[name] = list
	}
	return list, diags
}

// localName returns the name if e is exactly local.name.
func localName(e hcl.Expression) string {
	t, diags := hcl.AbsTraversalForExpr(e)
	if diags.HasErrors() || len(t) != 2 || baseOf(t.RootName()) != "local" {
		return ""
	}
	name, _ := member(t[1])
	return t.RootName() + "." + name
}

func (ev *evaluator) evaluateElements(e hcl.Expression) ([]element, diag.List) {
	v, diags := ev.alone(e)
	if diags.HasErrors() {
		return nil, diags
	}
	r := e.Range()
	if t, other := hcl.AbsTraversalForExpr(e); !other.HasErrors() && len(t) == 3 && t.RootName() == "step" {
		v, _ = v.Unmark() // the keys of a block are known, whichever of them are skipped
	}
	shallow, marks := v.Unmark()
	if diags := checkKeys(r, marks); diags != nil {
		return nil, diags
	}
	ty := shallow.Type()
	if !shallow.IsKnown() {
		return nil, diag.List{unknownForEach(r, v, marks)}
	}
	if shallow.IsNull() {
		return nil, diag.List{diag.Error(r, "Invalid for_each", "for_each must be a set, list or map, not null. For no instances, write toset([]).")}
	}
	switch {
	case ty.IsMapType() || ty.IsObjectType():
		all := shallow.AsValueMap()
		list := make([]element, 0, len(all))
		for _, key := range slices.Sorted(maps.Keys(all)) {
			list = append(list, element{key, withMarks(all[key], marks), marks})
		}
		return list, nil
	case ty.IsSetType() || ty.IsListType() || ty.IsTupleType():
		return listElements(r, shallow, marks)
	}
	return nil, diag.List{diag.Error(r, "Invalid for_each", "for_each must be a set, list or map, not %s.", ty.FriendlyName())}
}

func listElements(r hcl.Range, v cty.Value, marks cty.ValueMarks) ([]element, diag.List) {
	list := make([]element, 0, v.LengthInt())
	seen := make(map[string]bool, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		plain, own := withMarks(elem, marks).Unmark()
		if diags := checkKeys(r, own); diags != nil {
			return nil, diags
		}
		if !plain.IsKnown() {
			return nil, diag.List{unknownForEach(r, elem, own)}
		}
		text, err := convert.Convert(plain, cty.String)
		if v, bad := gather([]cty.Value{plain}); bad == nil && v.IsKnown() && v.LengthInt() > 0 {
			return nil, diag.List{diag.Error(r, "Invalid for_each", "This is a list of agents. Write agents(agent.a, agent.b) for a map of them, by name; a sweep stands for all of its agents.")}
		}
		if err != nil || text.IsNull() {
			return nil, diag.List{diag.Error(r, "Invalid for_each", "The elements must be strings, since they become keys; one is %s. To iterate over objects, use a map: { for x in list : x.name => x }.", plain.Type().FriendlyName())}
		}
		key := text.AsString()
		if seen[key] {
			return nil, diag.List{diag.Error(r, "Duplicate address", "The key %q occurs twice, so two instances would have the same address. Use toset(…) to drop duplicates.", key)}
		}
		seen[key] = true
		list = append(list, element{key, withMarks(text, own), own})
	}
	slices.SortFunc(list, func(a, b element) int { return strings.Compare(a.key, b.key) })
	return list, nil
}

// checkKeys refuses keys that would show a secret: they are part of addresses.
func checkKeys(r hcl.Range, marks cty.ValueMarks) diag.List {
	if _, found := marks[sensitive]; found {
		return diag.List{diag.Error(r, "Sensitive value in for_each", "The keys would be part of addresses, which are stored and shown. Iterate over values that are not sensitive.")}
	}
	if what := hidden(marks); what != "" {
		return diag.List{diag.Error(r, "Private content in for_each", "The keys are made from %s, which is private: it holds answers or was made from them. They would be part of addresses, which are stored and shown. Iterate over other keys, such as a range of numbers, and read the content in an argument, by each.key.", what)}
	}
	return nil
}

func unknownForEach(r hcl.Range, v cty.Value, marks cty.ValueMarks) *hcl.Diagnostic {
	_, deep := v.UnmarkDeep()
	names := map[string]bool{}
	for _, set := range []cty.ValueMarks{marks, deep} {
		for m := range set {
			if o, ok := m.(origin); ok {
				names[o.inst.Addr.Step.String()] = true
			}
		}
	}
	from := "a step's output"
	if len(names) > 0 {
		from = "outputs of " + strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	}
	d := diag.Error(r, "for_each is not known", "The keys depend on %s, which is known only after it ran. The keys of for_each must be known before anything runs: use variables, locals, competitions(…), or the keys of another step's for_each.", from)
	if len(names) == 0 {
		d.Extra = followsError
	}
	return d
}

// followsError is the extra of an error that is not told if there are others, since a
// value may be unknown because of them.
const followsError = "follows an error"
