package config

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// StepSpec is a step with the values of its arguments, for Build.
type StepSpec struct {
	Kind, Name string
	Args       map[string]cty.Value
	// Blocks are the arguments of nested blocks, by the block's name.
	Blocks map[string]map[string]cty.Value
}

// Build makes a pipeline of steps that a program lists, as Parse does from a
// file. path stands for the file in messages.
func Build(path string, specs []StepSpec, opts Options) (*Pipeline, diag.List) {
	l := loader{p: newPipeline(path, opts), opts: opts}
	var diags diag.List
	for _, spec := range specs {
		diags = append(diags, l.build(spec)...)
	}
	return l.p, l.link(diags)
}

func (l *loader) build(spec StepSpec) (diags diag.List) {
	at := addr.Step{Kind: spec.Kind, Name: spec.Name}
	kind := l.opts.Kinds.Kind(spec.Kind)
	switch {
	case kind == nil:
		return diag.List{diag.General("Unknown step kind", "%s: there is no step kind %q.", at, spec.Kind)}
	case l.p.byAddr[at] != nil:
		return diag.List{diag.General("Duplicate step", "%s is listed twice.", at)}
	}
	s := &Step{Addr: at, Kind: kind, Range: hcl.Range{Filename: l.p.Path}, Blocks: map[string]map[string]hcl.Expression{}}
	s.Args, diags = constants(s, kind.Args, spec.Args)
	for _, name := range slices.Sorted(maps.Keys(spec.Blocks)) {
		i := slices.IndexFunc(kind.Blocks, func(b step.Block) bool { return b.Name == name })
		if i < 0 {
			diags = append(diags, diag.General("Unknown block", "%s has no block %q.", at, name))
			continue
		}
		args, more := constants(s, kind.Blocks[i].Args, spec.Blocks[name])
		s.Blocks[name], diags = args, append(diags, more...)
	}
	l.p.byAddr[at] = s
	l.p.Steps = append(l.p.Steps, s)
	return diags
}

// constants turns values into expressions of declared arguments.
func constants(s *Step, declared []step.Attr, values map[string]cty.Value) (map[string]hcl.Expression, diag.List) {
	var diags diag.List
	exprs := make(map[string]hcl.Expression, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(declared, func(a step.Attr) bool { return a.Name == name }) {
			diags = append(diags, diag.General("Unknown argument", "%s has no argument %q.", s.Addr, name))
			continue
		}
		exprs[name] = &constant{hcl.StaticExpr(values[name], s.Range)}
	}
	for _, a := range declared {
		if a.Required && exprs[a.Name] == nil {
			diags = append(diags, diag.General("Missing argument", "%s needs the argument %q.", s.Addr, a.Name))
		}
	}
	return exprs, diags
}

// constant is an expression that can be the key of a map.
type constant struct{ hcl.Expression }
