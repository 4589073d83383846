package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

func (l *loader) model(b *hcl.Block) {
	name := l.name("model", b)
	content, _ := l.content(b, schemas[b.Type])
	m := newBlock(name, b.DefRange, content.Attributes)
	m.dir = l.dir
	n := &node{root: "model", name: name, at: m.Range, block: &m, value: func(ev *evaluator) (cty.Value, diag.List) { return ev.modelsValue(&m) }}
	if !l.declare("model", b.LabelRanges[0], n) {
		return
	}
	schema := func(name string) *hcl.BodySchema { return blockIn(argDocs("model"), name) }
	m.Blocks = l.nested(content.Blocks, schema, func(nested *hcl.Block) string {
		shown := nested.Type
		for _, label := range nested.Labels {
			shown += fmt.Sprintf(" %q", label)
		}
		return fmt.Sprintf("The model %q has a block %s already. Remove one of them.", name, shown)
	})
	n.exprs, n.sweep = m.expressions(), sweep(&m)
}

// modelKey is a key of a sweep of models: a part of addresses of the gateway, of variables
// of agents and of names of files.
var modelKey = pattern.New(`^[A-Za-z0-9_-]{1,60}$`)

// modelsValue evaluates a model block. The models of a sweep are called NAME.KEY, which no
// block can be called.
func (ev *evaluator) modelsValue(m *Block) (cty.Value, diag.List) {
	return ev.sweptValue(m, "model", func(key string) string { return m.Name + "." + key },
		func(name cty.Value, ctx *hcl.EvalContext) (cty.Value, diag.List) {
			plain, _ := name.Unmark()
			if _, key, swept := strings.Cut(plain.AsString(), "."); swept && !modelKey.Regexp().MatchString(key) {
				return cty.UnknownVal(step.ModelType), diag.List{diag.Error(m.Args["for_each"].Range(), "Invalid key of a model",
					"The key %q cannot be a part of a model's name: use 1 to 60 letters, digits, underscores and hyphens.", key)}
			}
			return ev.modelValue(m, name, ctx)
		})
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
func (ev *evaluator) modelValue(m *Block, name cty.Value, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	e, called := blockEval{ev: ev, ctx: ctx, wrong: wrongModel}, name
	v := objectOf(step.ModelType, func(name string, ty cty.Type) cty.Value {
		expr := m.Args[name]
		switch {
		case name == "name":
			return called
		case name == "key":
			return e.arg(expr, noSecret, func(v cty.Value) cty.Value { return e.key(m, v) })
		case name == "replay":
			return e.arg(expr, emptyOf(ty), func(v cty.Value) cty.Value { return e.replay(expr, v) })
		case name == "prices":
			return e.prices(m)
		case ty.IsObjectType():
			return e.object(m.Blocks[name], ty)
		}
		return e.attr(name, expr, ty)
	})
	if e.diags.HasErrors() {
		return cty.UnknownVal(step.ModelType), e.diags
	}
	return v, append(e.diags, checkModel(ev.pipeline.kinds, m, v)...)
}

// wrongModel says what is wrong with the type of an argument of a model.
func wrongModel(_ string, v cty.Value, want cty.Type, text string) string {
	if want.IsListType() && v.Type() == cty.String && v.IsKnown() && !v.IsMarked() && !v.IsNull() {
		text += fmt.Sprintf("; write [%q]", v.AsString())
	}
	return "of a model " + text
}

// objectOf returns the object of a type whose attributes value returns, in the order of
// their names.
func objectOf(ty cty.Type, value func(name string, ty cty.Type) cty.Value) cty.Value {
	types := ty.AttributeTypes()
	attrs := make(map[string]cty.Value, len(types))
	for _, name := range slices.Sorted(maps.Keys(types)) {
		attrs[name] = value(name, types[name])
	}
	return cty.ObjectVal(attrs)
}

// checkModel asks the kinds that know models what is wrong with one.
func checkModel(kinds *step.Registry, m *Block, v cty.Value) (diags diag.List) {
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
				at = m.ArgRange(wrong.Arg)
			}
			diags = append(diags, diag.Error(at, "Invalid model", "%s", diag.Sentence(mistake.Error())))
		}
	}
	return diags
}

// blockEval evaluates the arguments of a model or an agent block.
type blockEval struct {
	ev  *evaluator
	ctx *hcl.EvalContext
	// wrong says, after the name of an argument, what is wrong with its type, given what
	// mismatch says.
	wrong func(name string, v cty.Value, want cty.Type, text string) string
	diags diag.List
}

// arg evaluates an argument, which is none if it is not written. read makes its value what
// the block has.
func (e *blockEval) arg(expr hcl.Expression, none cty.Value, read func(v cty.Value) cty.Value) cty.Value {
	if expr == nil {
		return none
	}
	v, diags := e.ev.evaluate(expr, e.ctx)
	if e.diags = append(e.diags, diags...); diags.HasErrors() {
		return none
	}
	before := len(e.diags)
	out := read(v)
	if len(e.diags) > before && concealed(marksOf(v)) {
		conceal(e.diags[before:])
	}
	return out
}

// attr evaluates an argument of a type.
func (e *blockEval) attr(name string, expr hcl.Expression, want cty.Type) cty.Value {
	return e.arg(expr, emptyOf(want), func(v cty.Value) cty.Value { return e.converted(name, expr, v, want) })
}

// converted converts the value of an argument. Null is as if it were not written.
func (e *blockEval) converted(name string, expr hcl.Expression, v cty.Value, want cty.Type) cty.Value {
	out, err := convert.Convert(v, want)
	if err != nil {
		path, text := mismatch(v, want)
		e.fail(expr, "Wrong type of argument", "%s%s %s.", name, path, e.wrong(name, v, want, text))
		return emptyOf(want)
	}
	plain, marks := out.Unmark()
	switch {
	case plain.IsNull():
		return emptyOf(want).WithMarks(marks)
	case want == cty.Number && plain.IsKnown() && !isCount(plain):
		e.fail(expr, "Invalid "+name, "%s must be an integer of at least 1.", name)
		return emptyOf(want)
	}
	return out
}

// object evaluates the arguments of a nested block; those that are not written
// are empty, and numbers are integers above 0.
func (e *blockEval) object(exprs map[string]hcl.Expression, ty cty.Type) cty.Value {
	return objectOf(ty, func(name string, want cty.Type) cty.Value { return e.attr(name, exprs[name], want) })
}

// prices are those of the price blocks, and those of the argument prices for which
// there is no block.
func (e *blockEval) prices(m *Block) cty.Value {
	ty, expr, prices := step.ModelPriceType, m.Args["prices"], map[string]cty.Value{}
	for name, exprs := range m.Blocks {
		if label, ok := strings.CutPrefix(name, "price."); ok {
			prices[label] = e.object(exprs, ty)
		}
	}
	return e.arg(expr, mapOf(ty, prices), func(v cty.Value) cty.Value {
		given, marks := e.converted("prices", expr, v, cty.Map(cty.Map(cty.String))).UnmarkDeep()
		if !given.IsWhollyKnown() {
			return cty.UnknownVal(cty.Map(ty)).WithMarks(marks)
		}
		for label, texts := range given.AsValueMap() {
			if _, ok := prices[label]; !ok && !texts.IsNull() {
				prices[label] = e.price(expr, label, texts.AsValueMap())
			}
		}
		return mapOf(ty, prices).WithMarks(marks)
	})
}

// price is one of the argument prices.
func (e *blockEval) price(expr hcl.Expression, label string, texts map[string]cty.Value) cty.Value {
	types := step.ModelPriceType.AttributeTypes()
	for name := range texts {
		switch want, known := types[name]; {
		case !known:
			e.fail(expr, "Invalid prices", "prices[%q] has no %q.%s", label, name, diag.DidYouMean(name, slices.Sorted(maps.Keys(types))))
		case want.IsMapType():
			e.fail(expr, "Invalid prices", "prices[%q] cannot hold %s, which is a map; write a block price %q.", label, name, label)
		}
	}
	v := objectOf(step.ModelPriceType, func(name string, want cty.Type) cty.Value {
		if text, given := texts[name]; given && !want.IsMapType() {
			return e.number(expr, name, text, want)
		}
		return emptyOf(want)
	})
	if v.GetAttr("input") == cty.StringVal("") || v.GetAttr("output") == cty.StringVal("") {
		e.fail(expr, "Invalid prices", "prices[%q] needs input and output; \"0 USD\" is a price.", label)
	}
	return v
}

// number makes a string what it stands for.
func (e *blockEval) number(expr hcl.Expression, name string, text cty.Value, want cty.Type) cty.Value {
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

// noSecret is the key of a model without one.
var noSecret = cty.CapsuleVal(step.SecretRefType, &step.SecretRef{})

// key reads a reference to a secret. What is none is not repeated.
func (e *blockEval) key(m *Block, v cty.Value) cty.Value {
	expr := m.Args["key"]
	plain, marks := e.converted("key", expr, v, cty.String).Unmark()
	if !plain.IsKnown() {
		return cty.UnknownVal(step.SecretRefType).WithMarks(marks)
	}
	text := plain.AsString()
	if text != "" && notReference(text) {
		e.fail(expr, "Secret not by reference", "The key of a model must say where its value is, not contain it: write \"env:NAME\", \"file:PATH\" or \"command:LINE\".")
		text = ""
	}
	return cty.CapsuleVal(step.SecretRefType, &step.SecretRef{Ref: text, Dir: m.secretDir(expr)}).WithMarks(marks)
}

// replay reads recordings: the paths of folders of the pipeline, or outputs
// of steps, one or a list.
func (e *blockEval) replay(expr hcl.Expression, v cty.Value) cty.Value {
	none := cty.ListValEmpty(step.ArtifactType)
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

func (e *blockEval) fail(expr hcl.Expression, summary, format string, args ...any) {
	e.diags = append(e.diags, diag.Error(expr.Range(), summary, format, args...))
}
