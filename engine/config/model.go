package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// Model is a model block.
type Model struct {
	Name  string
	Attrs map[string]hcl.Expression
	// Blocks are the expressions of its nested blocks by their type, Prices
	// those of its price blocks by their label.
	Blocks, Prices map[string]map[string]hcl.Expression
	Range          hcl.Range
}

func (m *Model) expressions() []hcl.Expression {
	all := sortedExprs(m.Attrs)
	for _, blocks := range []map[string]map[string]hcl.Expression{m.Blocks, m.Prices} {
		for _, name := range slices.Sorted(maps.Keys(blocks)) {
			all = append(all, sortedExprs(blocks[name])...)
		}
	}
	return all
}

// rangeOf returns the place of an argument as Kind.CheckModel names it: an
// argument, BLOCK.ARGUMENT or price.LABEL.ARGUMENT; the header for others.
func (m *Model) rangeOf(arg string) hcl.Range {
	places := map[string]hcl.Expression{}
	add := func(prefix string, exprs map[string]hcl.Expression) {
		for name, e := range exprs {
			places[prefix+name] = e
		}
	}
	add("", m.Attrs)
	for name, exprs := range m.Blocks {
		add(name+".", exprs)
	}
	for label, exprs := range m.Prices {
		add("price."+label+".", exprs)
	}
	if e := places[arg]; e != nil {
		return e.Range()
	}
	return m.Range
}

func (l *loader) model(b *hcl.Block) diag.List {
	name := b.Labels[0]
	diags := checkName("model", name, b.LabelRanges[0])
	content, more := b.Body.Content(schemas[b.Type])
	diags = append(diags, more...)
	if old := l.p.Models[name]; old != nil {
		return append(diags, duplicate("model", name, b.LabelRanges[0], old.Range))
	}
	m := &Model{Name: name, Attrs: exprs(content.Attributes), Range: b.DefRange,
		Blocks: map[string]map[string]hcl.Expression{}, Prices: map[string]map[string]hcl.Expression{}}
	for _, nested := range content.Blocks {
		into, label := m.Blocks, nested.Type
		if nested.Type == "price" {
			into, label = m.Prices, nested.Labels[0]
		}
		inner, more := nested.Body.Content(blockIn(argDocs(b.Type), nested.Type))
		diags = append(diags, more...)
		if into[label] != nil {
			diags = append(diags, diag.Error(nested.DefRange, "Duplicate block", "The model %q has a block %s already. Remove one of them.", name, describeBlock(nested)))
			continue
		}
		into[label] = exprs(inner.Attributes)
	}
	l.p.Models[name] = m
	return diags
}

func describeBlock(b *hcl.Block) string {
	if len(b.Labels) > 0 {
		return fmt.Sprintf("%s %q", b.Type, b.Labels[0])
	}
	return b.Type
}

// modelValue evaluates a model block:
//
//	model "main" {
//	  provider = "openai"
//	  key      = "env:OPENAI_API_KEY"
//	  models   = ["gpt-5.5", "text-embedding-*"]
//	  budget { cost = "20 USD" }
//	  price "my-*" {
//	    input  = "1.25 USD"
//	    output = "10 USD"
//	  }
//	}
//
// A recording to replay may be the output of another step, which then is done
// first.
func (ev *evaluator) modelValue(m *Model) (cty.Value, diag.List) {
	e := modelEval{ev: ev, ctx: ev.scope(m.expressions())}
	attrs := map[string]cty.Value{}
	for name, ty := range step.ModelType.AttributeTypes() {
		switch {
		case name == "name":
			attrs[name] = cty.StringVal(m.Name)
		case name == "key":
			attrs[name] = e.key(m.Attrs[name])
		case name == "replay":
			attrs[name] = e.replay(m.Attrs[name])
		case name == "prices":
			attrs[name] = e.prices(m)
		case ty.IsObjectType():
			attrs[name] = e.object(m.Blocks[name], ty)
		default:
			attrs[name] = e.attr(name, m.Attrs[name], ty)
		}
	}
	v := cty.ObjectVal(attrs)
	if e.diags.HasErrors() {
		if slices.ContainsFunc(m.expressions(), func(expr hcl.Expression) bool { return ev.pipeline.conceals(expr, e.ctx) }) {
			conceal(e.diags)
		}
		return cty.UnknownVal(step.ModelType), e.diags
	}
	return v, append(e.diags, checkModel(ev.pipeline.kinds, m, v)...)
}

// checkModel asks the kinds that know models what is wrong with one.
func checkModel(kinds *step.Registry, m *Model, v cty.Value) (diags diag.List) {
	v, marks := v.UnmarkDeep()
	if !v.IsWhollyKnown() || concealed(marks) { // what is secret is refused where it is used
		return nil
	}
	var plain step.Model
	if err := step.ArgsOf(v).Decode(&plain); err != nil {
		return diag.List{diag.Error(m.Range, "Invalid model", "%s", diag.Sentence(err.Error()))}
	}
	for _, name := range kinds.Names() {
		check := kinds.Kind(name).CheckModel
		if check == nil {
			continue
		}
		err := check(plain)
		if err == nil {
			continue
		}
		for _, mistake := range step.Mistakes(err) {
			at := m.Range
			if wrong := (*step.ArgError)(nil); errors.As(mistake, &wrong) {
				at = m.rangeOf(wrong.Arg)
			}
			diags = append(diags, diag.Error(at, "Invalid model", "%s", diag.Sentence(mistake.Error())))
		}
	}
	return diags
}

// modelEval evaluates the arguments of one model block.
type modelEval struct {
	ev    *evaluator
	ctx   *hcl.EvalContext
	diags diag.List
}

// object evaluates the arguments of a nested block; those that are not written
// are empty, and numbers are integers above 0.
func (e *modelEval) object(exprs map[string]hcl.Expression, ty cty.Type) cty.Value {
	attrs := map[string]cty.Value{}
	for name, want := range ty.AttributeTypes() {
		attrs[name] = e.attr(name, exprs[name], want)
	}
	return cty.ObjectVal(attrs)
}

// prices are those of the price blocks, and those of the argument prices for which
// there is no block.
func (e *modelEval) prices(m *Model) cty.Value {
	ty, prices := step.ModelPriceType, map[string]cty.Value{}
	for label, exprs := range m.Prices {
		prices[label] = e.object(exprs, ty)
	}
	given, marks := e.attr("prices", m.Attrs["prices"], cty.Map(cty.Map(cty.String))).UnmarkDeep()
	if !given.IsWhollyKnown() {
		return cty.UnknownVal(cty.Map(ty)).WithMarks(marks)
	}
	for label, texts := range given.AsValueMap() {
		if _, ok := prices[label]; ok || texts.IsNull() {
			continue
		}
		attrs := map[string]cty.Value{}
		for name, want := range ty.AttributeTypes() {
			attrs[name] = emptyOf(want)
		}
		for name, text := range texts.AsValueMap() {
			if attrs[name] == cty.NilVal {
				e.fail(m.Attrs["prices"], "Invalid prices", "prices[%q] has no %q.%s", label, name, diag.DidYouMean(name, slices.Sorted(maps.Keys(attrs))))
				continue
			}
			if want := ty.AttributeType(name); want.IsMapType() {
				e.fail(m.Attrs["prices"], "Invalid prices", "prices[%q] cannot hold %s, which is a map; write a block price %q.", label, name, label)
				continue
			}
			attrs[name] = e.number(m.Attrs["prices"], name, text, ty.AttributeType(name))
		}
		if attrs["input"] == cty.StringVal("") || attrs["output"] == cty.StringVal("") {
			e.fail(m.Attrs["prices"], "Invalid prices", "prices[%q] needs input and output; \"0 USD\" is a price.", label)
		}
		prices[label] = cty.ObjectVal(attrs)
	}
	if len(prices) == 0 {
		return cty.MapValEmpty(ty).WithMarks(marks)
	}
	return cty.MapVal(prices).WithMarks(marks)
}

// number makes a string what it stands for.
func (e *modelEval) number(expr hcl.Expression, name string, text cty.Value, want cty.Type) cty.Value {
	v, err := convert.Convert(text, want)
	switch {
	case err == nil && v.IsNull():
		return emptyOf(want)
	case err != nil, want == cty.Number && !isCount(v):
		e.fail(expr, "Invalid "+name, "%s must be an integer of at least 1.", name)
		return emptyOf(want)
	}
	return v
}

// isCount reports whether a number is an integer of at least 1.
func isCount(v cty.Value) bool {
	n := v.AsBigFloat()
	return n.IsInt() && n.Sign() > 0 && n.MantExp(nil) <= 53
}

func (e *modelEval) attr(name string, expr hcl.Expression, want cty.Type) cty.Value {
	if expr == nil {
		return emptyOf(want)
	}
	v, diags := e.ev.evaluate(expr, e.ctx)
	if e.diags = append(e.diags, diags...); diags.HasErrors() {
		return emptyOf(want)
	}
	out, err := convert.Convert(v, want)
	if err != nil {
		path, text := mismatch(v, want)
		if want.IsListType() && v.Type() == cty.String && v.IsKnown() && !v.IsMarked() && !v.IsNull() {
			text += fmt.Sprintf("; write [%q]", v.AsString())
		}
		e.fail(expr, "Wrong type of argument", "%s%s of a model %s.", name, path, text)
		return emptyOf(want)
	}
	plain, marks := out.Unmark()
	switch {
	case plain.IsNull():
		return emptyOf(want).WithMarks(marks) // as if it were not written
	case want == cty.Number && plain.IsKnown():
		if !isCount(plain) {
			e.fail(expr, "Invalid "+name, "%s must be an integer of at least 1.", name)
			return emptyOf(want)
		}
	}
	return out
}

// key evaluates a reference to a secret. What is none is not repeated.
func (e *modelEval) key(expr hcl.Expression) cty.Value {
	v := e.attr("key", expr, cty.String)
	plain, marks := v.Unmark()
	if !plain.IsKnown() {
		return cty.UnknownVal(step.SecretRefType).WithMarks(marks)
	}
	text := plain.AsString()
	if text != "" && notReference(text) {
		e.fail(expr, "Secret not by reference", "The key of a model must say where its value is, not contain it: write \"env:NAME\", \"file:PATH\" or \"command:LINE\".")
		text = ""
	}
	return cty.CapsuleVal(step.SecretRefType, &step.SecretRef{Ref: text}).WithMarks(marks)
}

// replay evaluates recordings: the paths of folders of the pipeline, or outputs
// of steps, one or a list.
func (e *modelEval) replay(expr hcl.Expression) cty.Value {
	none := cty.ListValEmpty(step.ArtifactType)
	if expr == nil {
		return none
	}
	v, diags := e.ev.evaluate(expr, e.ctx)
	if e.diags = append(e.diags, diags...); diags.HasErrors() {
		return none
	}
	plain, marks := v.UnmarkDeep()
	switch {
	case plain.IsNull():
		return none.WithMarks(marks)
	case !plain.IsWhollyKnown():
		return cty.UnknownVal(none.Type()).WithMarks(marks)
	case !plain.Type().IsTupleType() && !plain.Type().IsListType():
		plain = cty.TupleVal([]cty.Value{plain})
	}
	var list []cty.Value
	for it := plain.ElementIterator(); it.Next(); {
		_, one := it.Element()
		if one.Type() == cty.String && !one.IsNull() {
			content, err := artifactValue(e.ev.pipeline.local.Any(one.AsString()))
			if err != nil {
				e.fail(expr, "Invalid replay", "%s", diag.Sentence(err.Error()))
				return none
			}
			var found cty.ValueMarks
			one, found = content.Unmark()
			maps.Copy(marks, found)
		}
		if one.Type() != step.ArtifactType || one.IsNull() {
			e.fail(expr, "Invalid replay", "replay must be the path of a folder with a recording, or the output transcript of a step, or a list of those, not %s.", got(one))
			return none
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return none.WithMarks(marks)
	}
	return cty.ListVal(list).WithMarks(marks)
}

func (e *modelEval) fail(expr hcl.Expression, summary, format string, args ...any) {
	e.diags = append(e.diags, diag.Error(expr.Range(), summary, format, args...))
}
