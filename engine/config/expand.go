package config

import (
	"slices"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

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
		locals: map[string]cty.Value{}, models: map[string]cty.Value{}, agents: map[string]cty.Value{},
		blocks: map[*Step]*block{}, forEach: map[string][]element{}, stale: map[string]bool{},
	}}
	x := expander{evaluator: g.eval, graph: g}
	var diags diag.List
	for _, n := range p.order {
		expand := x.bind
		if n.step != nil {
			expand = x.expandStep
		}
		if diags = append(diags, expand(n)...); p.budget.Passed() {
			return g, diags
		}
	}
	if first := slices.DeleteFunc(slices.Clone(diags), func(d *hcl.Diagnostic) bool { return d.Extra == followsError }); first.HasErrors() {
		return g, first
	}
	if !diags.HasErrors() {
		for _, o := range p.Outputs {
			v, more := x.evaluate(o.Value, x.scope([]hcl.Expression{o.Value}))
			diags = append(diags, more...)
			if !more.HasErrors() {
				diags = append(diags, checkOutput(o, v)...)
			}
		}
		diags = append(diags, publications(g)...)
	}
	return g, diags
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
	block := expansion{expander: x, ctx: x.scope(exprs)}
	if s.ForEach != nil {
		block.shared = &shared{values: x.evaluateOnce(s, block.ctx), each: slices.ContainsFunc(exprs, refersToEach)}
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
			inst.each = el.value
		}
		inst.artifacts, slots = slots[:len(outs):len(outs)], slots[len(outs):]
		from := ""
		if content > 0 {
			from = inst.Addr.String()
		}
		for o := range outs {
			if outs[o].Type == step.ArtifactType {
				artifacts[0] = step.Artifact{From: from, Output: outs[o].Name}
				inst.artifacts[o], artifacts = &artifacts[0], artifacts[1:]
			}
		}
		g.Instances = append(g.Instances, inst)
	}
	return g.Instances[first:]
}
