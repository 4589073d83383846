package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// evaluateArgs returns the values of the instance's arguments and then of its
// blocks, in the order of the kind and without marks, and what they consume.
func (ev *evaluator) evaluateArgs(inst *Instance, common *shared, ctx func() *hcl.EvalContext) ([]cty.Value, consumed, diag.List) {
	e := argEval{ev: ev, inst: inst, shared: common, ctx: ctx, marks: map[any]struct{}{}}
	values := e.all()
	return values, e.consumed, e.diags
}

// consumed is what an instance consumes.
type consumed struct {
	origins []origin
	// private names something private among it, or is empty. text says that the step reads
	// it as text, or by which content it has, and not only as content.
	private string
	text    bool
}

// all evaluates all arguments and blocks.
func (e *argEval) all() []cty.Value {
	k, inst := e.inst.Step.Kind, e.inst
	values := make([]cty.Value, 0, len(k.Args)+len(k.Blocks))
	for i := range k.Args {
		values = append(values, e.attr(&k.Args[i], inst.Step.Args[k.Args[i].Name]))
	}
	for i := range k.Blocks {
		values = append(values, e.block(&k.Blocks[i]))
	}
	return values
}

// argEval evaluates the arguments of one instance.
type argEval struct {
	ev     *evaluator
	inst   *Instance
	shared *shared // nil if the instance is evaluated by itself
	ctx    func() *hcl.EvalContext
	marks  map[any]struct{}
	consumed
	diags diag.List
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
	if e.shared != nil {
		if m := e.shared.alike[expr]; m != nil {
			return m.argument(e, a, expr)
		}
	}
	return e.own(a, expr)
}

// own evaluates a written argument for the instance.
func (e *argEval) own(a *step.Attr, expr hcl.Expression) cty.Value {
	v, diags := e.value(expr)
	if diags.HasErrors() {
		for _, d := range diags {
			if e.inst.Addr.HasKey {
				d.Detail += fmt.Sprintf(" (In %s.)", e.inst.Addr)
			}
		}
		e.diags = append(e.diags, diags...)
		return cty.UnknownVal(a.Type)
	}
	clear(e.marks)
	if a.Files {
		var err error
		if v, err = localFiles(e.ev.pipeline.local, v); err != nil {
			diags = diag.List{diag.Error(expr.Range(), "Invalid "+a.Name, "%s: %s", e.inst.Addr, diag.Sentence(err.Error()))}
			if concealed(marksOf(v)) {
				conceal(diags)
			}
			e.diags = append(e.diags, diags...)
			return cty.UnknownVal(a.Type)
		}
	}
	given := v
	v = unmarkArg(v, a.Type, e.marks)
	if a.Served && a.Made != nil {
		e.serve(a.Made.Kind)
	}
	e.consume(reading{a.Name, expr, e.marks})
	e.text = e.text || isText(e.marks) && readsText(given, a.Type)
	out, path, text := converted(v, a.Type)
	if text != "" {
		if concealed(e.marks) {
			path, text = "", "has the wrong type"
		}
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

// serve lets the step have the private outputs that a step of a kind made from what is
// public.
func (e *argEval) serve(kind string) {
	for _, o := range originsOf(e.marks) {
		if o.inst.Step.Kind.Name == kind && !o.inst.Private {
			delete(e.marks, o)
			o.served = true
			e.marks[o] = struct{}{}
		}
	}
}

// readsText reports whether an argument with private marks has more than content of them.
func readsText(v cty.Value, ty cty.Type) bool {
	if !step.HoldsContent(ty) {
		return true
	}
	if used, err := convert.Convert(v, ty); err == nil { // without attributes that the step does not have
		v = used
	}
	return isText(shownMarks(v))
}

// unmarkArg is unmark of an argument, in which a recording that a model replays is no
// content. It is one in no other place, such as model.NAME.replay or an agent's files.
func unmarkArg(v cty.Value, ty cty.Type, marks map[any]struct{}) cty.Value {
	agent := ty.Equals(step.AgentType)
	if !agent && !ty.Equals(step.ModelType) {
		return unmark(v, marks)
	}
	plain, found := v.UnmarkDeepWithPaths()
	for _, at := range found {
		path := at.Path
		if agent && len(path) > 2 && path[0] == (cty.GetAttrStep{Name: "models"}) {
			path = path[2:]
		}
		for m := range at.Marks {
			if o, ok := m.(origin); ok {
				o.replayed = len(path) > 0 && path[0] == (cty.GetAttrStep{Name: "replay"})
				m = o
			}
			marks[m] = struct{}{}
		}
	}
	return plain
}

// converted converts a value to the type of an argument. path and text say what is
// wrong, as those of mismatch.
func converted(v cty.Value, ty cty.Type) (out cty.Value, path, text string) {
	out, err := bounded.Convert(v, ty)
	if err != nil {
		path, text = mismatch(v, ty)
		return out, path, text
	}
	if out, path = present(out); path != "" {
		text = "is null. Leave the element out, for example with [for x in LIST : x if x != null]"
	}
	return out, path, text
}

// present returns a value without the elements of maps that are null, as if they had
// not been written. A list has no place for such an element: path is that of the
// first one.
func present(v cty.Value) (_ cty.Value, path string) {
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown() || !ty.IsListType() && !ty.IsMapType() && !ty.IsObjectType() || v.LengthInt() == 0:
		return v, ""
	case ty.IsListType():
		elems := v.AsValueSlice()
		for i, elem := range elems {
			if elems[i], path = present(elem); path != "" || elem.IsNull() {
				return v, fmt.Sprintf("[%d]%s", i, path)
			}
		}
		return cty.ListVal(elems), ""
	}
	all := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		elem := all[name]
		if elem.IsNull() && ty.IsMapType() {
			delete(all, name)
		} else if all[name], path = present(elem); path != "" {
			return v, fmt.Sprintf("[%q]%s", name, path)
		}
	}
	if ty.IsObjectType() {
		return cty.ObjectVal(all), ""
	}
	return mapOf(ty.ElementType(), all), ""
}

// remedy says how to write an argument whose value v has the wrong type.
func (e *argEval) remedy(a *step.Attr, v cty.Value) string {
	if concealed(e.marks) || !v.IsKnown() || v.IsNull() {
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

// value evaluates an expression, unless it has a shortcut.
func (e *argEval) value(expr hcl.Expression) (cty.Value, diag.List) {
	if e.shared != nil {
		if short, ok := e.shared.shortcuts[expr]; ok {
			return short.value(e.ev, e.inst), nil
		}
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

func allowed(a *step.Attr, v cty.Value) bool {
	return len(a.OneOf) == 0 || !v.IsKnown() || v.Type() != cty.String || slices.Contains(a.OneOf, v.AsString())
}

func (e *argEval) checkOneOf(a *step.Attr, v cty.Value, expr hcl.Expression) {
	if allowed(a, v) {
		return
	}
	not := ""
	if !concealed(e.marks) {
		not = fmt.Sprintf(", not %q.%s", v.AsString(), diag.DidYouMean(v.AsString(), a.OneOf))
	}
	e.diags = append(e.diags, diag.Error(expr.Range(), "Value not allowed", "%s", diag.Sentence(a.Name+" must be one of "+strings.Join(a.OneOf, ", ")+not)))
}

// consume records where a value comes from that the instance reads, and rejects what is
// not allowed there.
func (e *argEval) consume(r reading) {
	if len(r.marks) == 0 {
		return
	}
	for _, m := range originsOf(r.marks) {
		e.origins = append(e.origins, m)
		if m.private() {
			e.private = cmp.Or(e.private, m.String())
			e.refusePrivate(r, m)
		}
	}
	kind := e.inst.Step.Kind
	for m := range r.marks {
		path, ok := m.(privateFile)
		if !ok {
			continue
		}
		if e.private = cmp.Or(e.private, string(path)); kind.Untrusted {
			e.diags = append(e.diags, diag.Error(r.expr.Range(), "Private file in an untrusted step",
				"%s of %s is made from %s, which is in the cache or among a competition's private files. A step of kind %q runs untrusted code, which cannot have private files.",
				r.name, e.inst.Addr, string(path), kind.Name))
		}
	}
	if _, found := r.marks[sensitive]; found {
		e.diags = append(e.diags, diag.Error(r.expr.Range(), "Sensitive value in an argument",
			"%s would be stored with the plan and the key. Give secrets to an agent by reference: secrets = { NAME = \"env:NAME\" }.", r.name))
	}
}

func (e *argEval) refusePrivate(r reading, m origin) {
	if !e.inst.Step.Kind.Untrusted {
		return
	}
	from := m.inst
	out := from.Step.Kind.Outputs[m.out].Name
	here := diag.Error(r.expr.Range(), "Private output in an untrusted step",
		"%s of %s refers to output %q of %s (%s), which is private: it holds answers or was made from them. A step of kind %q runs untrusted code, which cannot have private files. Use a public output instead.",
		r.name, e.inst.Addr, out, from.Addr, position(from.Step.Range), e.inst.Step.Kind.Name)
	there := diag.Error(from.Step.Range, "The private output is made here", "Output %q of this step is private.", out)
	e.diags = append(e.diags, here, there)
}

// private reports whether the output may not be had by a step that runs untrusted code.
func (o origin) private() bool {
	switch o.inst.Step.Kind.Outputs[o.out].Secrecy {
	case step.Private:
		return !o.served
	case step.Public:
		return o.inst.Text
	case step.Withheld:
		return !o.replayed
	default:
		return o.inst.Private
	}
}

// hidden reports whether the output is private even for people: it contains answers,
// or was made from them by a step whose results may be more than scores.
func (o origin) hidden() bool {
	kind := o.inst.Step.Kind
	if kind.Outputs[o.out].Secrecy == step.Withheld {
		return false
	}
	return o.private() && (kind.Outputs[o.out].Secrecy == step.Private || !kind.Results)
}
