package prep

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

// argument is one argument of a call: a value, or an ordered object.
type argument struct {
	value   cty.Value
	fields  transform.Fields
	members transform.Members
	at      hcl.Range
}

// call computes a function call. Where a verb and a function of the standard
// library share a name, plain values go to the latter.
func (e *evaluator) call(x *hclsyntax.FunctionCallExpr, s *scope) (cty.Value, hcl.Diagnostics) {
	verb, isVerb := e.verbs[x.Name]
	std, isStd := e.functions[x.Name]
	if !isVerb && !isStd {
		return fail(x.NameRange, "Unknown verb "+x.Name, "%s", e.unknownVerb(x.Name))
	}
	args, diags := e.arguments(x, s, verb)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	if isStd && !(isVerb && anyOpaque(args)) {
		plain := make([]cty.Value, len(args))
		for i, a := range args {
			if plain[i] = a.value; isOpaque(a.value) && a.value.Type() != cellType {
				return fail(a.at, "Wrong argument", "%s takes plain values, not %s.", x.Name, describe(a.value))
			}
		}
		return e.plainCall(std, x.Range(), plain...)
	}
	return e.invoke(verb, args, x)
}

func anyOpaque(args []argument) bool {
	return slices.ContainsFunc(args, func(a argument) bool { return a.fields == nil && a.members == nil && isOpaque(a.value) })
}

func (e *evaluator) arguments(x *hclsyntax.FunctionCallExpr, s *scope, verb transform.Verb) ([]argument, hcl.Diagnostics) {
	var out []argument
	var diags hcl.Diagnostics
	for i, expr := range x.Args {
		a := argument{at: expr.Range()}
		var more hcl.Diagnostics
		switch parameter(verb, i) {
		case fieldsType:
			a.fields, more = e.fields(expr, s)
		case membersType:
			a.members, more = e.members(expr, s)
		default:
			a.value, more = e.value(expr, s)
		}
		diags = append(diags, more...)
		if i < len(x.Args)-1 || !x.ExpandFinal || more.HasErrors() {
			out = append(out, a)
			continue
		}
		if !a.value.CanIterateElements() {
			return nil, wrong(a.at, "Nothing to expand", "Expected a list before \"...\", not %s.", describe(a.value))
		}
		for _, item := range a.value.AsValueSlice() {
			out = append(out, argument{value: item, at: a.at})
		}
	}
	return out, diags
}

var (
	inputType   = reflect.TypeFor[*transform.Input]()
	fieldsType  = reflect.TypeFor[transform.Fields]()
	membersType = reflect.TypeFor[transform.Members]()
	errorType   = reflect.TypeFor[error]()
)

// written returns the types of the parameters that an author writes.
func written(f reflect.Type) []reflect.Type {
	var out []reflect.Type
	for i := range f.NumIn() {
		if f.In(i) != inputType {
			out = append(out, f.In(i))
		}
	}
	return out
}

// parameter returns the type of a verb's parameter, nil if it has none such.
func parameter(verb transform.Verb, i int) reflect.Type {
	if verb.Func == nil {
		return nil
	}
	if types := written(reflect.TypeOf(verb.Func)); i < len(types) {
		return types[i]
	}
	return nil
}

func isOptions(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && t != reflect.TypeFor[*table.Table]() && t != reflect.TypeFor[*table.Column]()
}

// invoke binds arguments to a verb's Go function and calls it.
func (e *evaluator) invoke(verb transform.Verb, args []argument, x *hclsyntax.FunctionCallExpr) (cty.Value, hcl.Diagnostics) {
	f := reflect.ValueOf(verb.Func)
	types := written(f.Type())
	if message := countArguments(verb, f.Type(), types, len(args)); message != "" {
		return fail(x.Range(), "Wrong number of arguments", "%s", message)
	}
	var in []reflect.Value
	if f.Type().NumIn() > len(types) {
		in = append(in, reflect.ValueOf(e.input))
	}
	for i, a := range args {
		t := types[min(i, len(types)-1)]
		if f.Type().IsVariadic() && i >= len(types)-1 {
			t = types[len(types)-1].Elem()
		}
		v, err := toGo(a, t)
		if err != nil {
			return fail(a.at, fmt.Sprintf("Wrong argument %s of %s", verb.Params[min(i, len(verb.Params)-1)], verb.Name), "%v.", err)
		}
		in = append(in, v)
	}
	if last := len(types) - 1; len(args) == last && isOptions(types[last]) {
		in = append(in, reflect.New(types[last].Elem()))
	}
	return result(f.Call(in), verb, x.Range())
}

func countArguments(verb transform.Verb, f reflect.Type, types []reflect.Type, have int) string {
	need := len(types)
	if f.IsVariadic() || len(types) > 0 && isOptions(types[need-1]) {
		need--
	}
	if have >= need && (have <= len(types) || f.IsVariadic()) {
		return ""
	}
	return fmt.Sprintf("Write %s(%s).", verb.Name, strings.Join(verb.Params, ", "))
}

// sentence is an error whose text ends with a full stop.
type sentence struct{ error }

func (s sentence) Error() string { return diag.Sentence(s.error.Error()) }
func (s sentence) Unwrap() error { return s.error }

// result converts a verb's result to a value of the language.
func result(out []reflect.Value, verb transform.Verb, r hcl.Range) (cty.Value, hcl.Diagnostics) {
	if last := out[len(out)-1]; last.Type() == errorType {
		if err, _ := last.Interface().(error); err != nil {
			return fail(r, "Cannot "+verb.Name, "%v", sentence{err})
		}
	}
	v, err := fromGo(out[0])
	if err != nil {
		return fail(r, "Cannot "+verb.Name, "%v.", err)
	}
	return v, nil
}
