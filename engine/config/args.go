package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// evaluateArgs returns the values of the instance's arguments and then of its
// blocks, in the order of the kind and without marks, and their origins.
func (ev *evaluator) evaluateArgs(inst *Instance, common *shared, ctx func() *hcl.EvalContext) ([]cty.Value, []origin, diag.List) {
	k := inst.Step.Kind
	e := argEval{ev: ev, inst: inst, shared: common, ctx: ctx, marks: map[any]struct{}{}}
	values := make([]cty.Value, 0, len(k.Args)+len(k.Blocks))
	for i := range k.Args {
		values = append(values, e.attr(&k.Args[i], inst.Step.Args[k.Args[i].Name]))
	}
	for i := range k.Blocks {
		values = append(values, e.block(&k.Blocks[i]))
	}
	return values, e.origins, e.diags
}

// object builds the object that a kind decodes from the values that
// evaluateArgs returned. Instances keep only the values, because there may be
// very many.
func object(k *step.Kind, values []cty.Value) cty.Value {
	attrs := make(map[string]cty.Value, len(values))
	for i, v := range values {
		if i < len(k.Args) {
			attrs[k.Args[i].Name] = v
		} else {
			attrs[k.Blocks[i-len(k.Args)].Name] = v
		}
	}
	return cty.ObjectVal(attrs)
}

// argEval evaluates the arguments of one instance.
type argEval struct {
	ev      *evaluator
	inst    *Instance
	shared  *shared // nil if the instance is evaluated by itself
	ctx     func() *hcl.EvalContext
	marks   map[any]struct{}
	origins []origin
	diags   diag.List
}

func (e *argEval) block(b *step.Block) cty.Value {
	given, ok := e.inst.Step.Blocks[b.Name]
	if !ok {
		return cty.NullVal(b.Type())
	}
	object := make(map[string]cty.Value, len(b.Args))
	for i := range b.Args {
		object[b.Args[i].Name] = e.attr(&b.Args[i], given[b.Args[i].Name])
	}
	return cty.ObjectVal(object)
}

func (e *argEval) attr(a *step.Attr, expr hcl.Expression) cty.Value {
	if expr == nil {
		if a.Default != (cty.Value{}) {
			return a.Default
		}
		if a.Type == step.ArtifactType {
			return cty.NullVal(cty.DynamicPseudoType) // in the form that Args.Decode expects
		}
		return cty.NullVal(a.Type)
	}
	if e.shared.final(expr) {
		return e.shared.values[expr].value
	}
	v, diags := e.value(expr)
	if diags.HasErrors() {
		e.diags = append(e.diags, e.about(diags)...)
		return cty.UnknownVal(a.Type)
	}
	clear(e.marks)
	if a.Files {
		var err error
		if v, err = localFiles(e.ev.pipeline.local, v); err != nil {
			e.diags = append(e.diags, diag.Error(expr.Range(), "Invalid "+a.Name, "%s: %s", e.inst.Addr, diag.Sentence(err.Error())))
			return cty.UnknownVal(a.Type)
		}
	}
	v = unmark(v, e.marks)
	e.consume(a, expr)
	out, err := bounded.Convert(v, a.Type)
	if err != nil {
		path, text := mismatch(v, a.Type)
		e.diags = append(e.diags, diag.Error(expr.Range(), "Wrong type of argument", "%s%s of %s %s.%s", a.Name, path, e.inst.Addr, text, e.remedy(a, v)))
		return cty.UnknownVal(a.Type)
	}
	if out.IsNull() {
		if a.Required {
			e.diags = append(e.diags, diag.Error(expr.Range(), "Missing value", "%s of %s is required and must not be null.", a.Name, e.inst.Addr))
		} else if a.Default != (cty.Value{}) {
			return a.Default
		}
		return out
	}
	e.checkOneOf(a, out, expr)
	return out
}

// remedy says how to write an argument whose value v has the wrong type.
func (e *argEval) remedy(a *step.Attr, v cty.Value) string {
	if _, hidden := e.marks[sensitive]; hidden || !v.IsKnown() || v.IsNull() {
		return ""
	}
	if v.Type() == cty.String && (a.Type.IsListType() && a.Type.ElementType() == cty.String) {
		return fmt.Sprintf(" Write [%q].", v.AsString())
	}
	if a.Type.IsObjectType() {
		return " " + a.Doc
	}
	return ""
}

// value evaluates an expression, unless its value is the same for all instances
// of the block and already known.
func (e *argEval) value(expr hcl.Expression) (cty.Value, diag.List) {
	if s := e.shared; s.has(expr) {
		same := s.values[expr]
		return same.value, copyDiags(same.diags)
	}
	return e.ev.evaluate(expr, e.ctx())
}

// copyDiags copies diagnostics that are changed for each instance.
func copyDiags(list diag.List) diag.List {
	if len(list) == 0 {
		return nil
	}
	out := make(diag.List, len(list))
	for i, d := range list {
		c := *d
		out[i] = &c
	}
	return out
}

// about adds the instance to the errors of an evaluation.
func (e *argEval) about(diags diag.List) diag.List {
	if e.inst.Addr.HasKey {
		for _, d := range diags {
			d.Detail += fmt.Sprintf(" (In %s.)", e.inst.Addr)
		}
	}
	return diags
}

func allowed(a *step.Attr, v cty.Value) bool {
	return len(a.OneOf) == 0 || !v.IsKnown() || v.Type() != cty.String || slices.Contains(a.OneOf, v.AsString())
}

func (e *argEval) checkOneOf(a *step.Attr, v cty.Value, expr hcl.Expression) {
	if allowed(a, v) {
		return
	}
	e.diags = append(e.diags, diag.Error(expr.Range(), "Value not allowed", "%s must be one of %s, not %q.%s",
		a.Name, strings.Join(a.OneOf, ", "), v.AsString(), diag.DidYouMean(v.AsString(), a.OneOf)))
}
