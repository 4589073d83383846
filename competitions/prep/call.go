package prep

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
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
	return lists.Where(slices.Collect(f.Ins()), func(in reflect.Type) bool { return in != inputType })
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
	return valueOr(v, err, r, "Cannot "+verb.Name)
}

// converters turn a value of the language into each Go type that a verb's
// parameter may have.
var converters = map[reflect.Type]func(cty.Value) (any, error){
	reflect.TypeFor[*table.Table](): func(v cty.Value) (any, error) { return toTable(v) },
	reflect.TypeFor[*table.Column](): func(v cty.Value) (any, error) {
		if c, ok := asColumn(v); ok {
			return c, nil
		}
		return nil, fmt.Errorf("expected a column such as t.id, not %s", describe(v))
	},
	reflect.TypeFor[table.Value]():           func(v cty.Value) (any, error) { return toCell(v) },
	reflect.TypeFor[transform.Operand]():     func(v cty.Value) (any, error) { return toOperand(v) },
	reflect.TypeFor[transform.Rows]():        func(v cty.Value) (any, error) { return toRows(v) },
	reflect.TypeFor[[]table.Value]():         func(v cty.Value) (any, error) { return toCells(v) },
	reflect.TypeFor[pyjson.Value]():          func(v cty.Value) (any, error) { return toJSON(v) },
	reflect.TypeFor[transform.PythonState](): func(v cty.Value) (any, error) { return toGenerator(v) },
	reflect.TypeFor[transform.Options]():     func(v cty.Value) (any, error) { return toChoices(v) },
	reflect.TypeFor[transform.Records]():     func(v cty.Value) (any, error) { return toRecords(v) },
	reflect.TypeFor[map[string]string]():     func(v cty.Value) (any, error) { return toTexts(v) },
	reflect.TypeFor[[]string](): func(v cty.Value) (any, error) {
		if v.Type() == cty.String && !v.IsNull() {
			return []string{v.AsString()}, nil
		}
		cells, err := toCells(v)
		return lists.Of(cells, table.Value.String), err
	},
}

// toGo converts an argument to a parameter's type.
func toGo(a argument, t reflect.Type) (reflect.Value, error) {
	switch t {
	case fieldsType:
		return reflect.ValueOf(a.fields), nil
	case membersType:
		return reflect.ValueOf(a.members), nil
	}
	if f, ok := converters[t]; ok {
		v, err := f(a.value)
		if err != nil {
			return reflect.Value{}, err
		}
		return reflect.ValueOf(v), nil
	}
	if isOptions(t) {
		return options(a.value, t.Elem())
	}
	out := reflect.New(t)
	return out.Elem(), plain(a.value, out)
}

// plain converts a text, number or condition.
func plain(v cty.Value, out reflect.Value) error {
	v = number(v)
	want, err := gocty.ImpliedType(out.Elem().Interface())
	if err != nil {
		return err
	}
	converted, err := convert.Convert(v, want)
	if err != nil || v.IsNull() {
		return fmt.Errorf("expected a %s, not %s", want.FriendlyName(), describe(v))
	}
	return gocty.FromCtyValue(converted, out.Interface())
}

// number returns a float as a plain number; other values stay.
func number(v cty.Value) cty.Value {
	if cell, ok := held[table.Value](v); ok {
		return cty.NumberFloatVal(cell.Float())
	}
	return v
}

// options fills a struct of options from an object. Unknown names are refused.
func options(v cty.Value, t reflect.Type) (reflect.Value, error) {
	if !isObject(v) {
		return reflect.Value{}, fmt.Errorf("expected options { name = value, … }, not %s", describe(v))
	}
	out := reflect.New(t)
	names, members := optionNames(t), v.AsValueMap()
	for _, name := range sortedKeys(members) {
		at := slices.Index(names, name)
		if at < 0 {
			return out, fmt.Errorf("no option %q. %s", name, diag.Suggest(name, names))
		}
		if err := setOption(members[name], out.Elem().Field(at)); err != nil {
			return out, fmt.Errorf("option %s: %w", name, err)
		}
	}
	return out, nil
}

// optionNames returns the names of the fields of options or of a result.
func optionNames(t reflect.Type) (names []string) {
	for field := range t.Fields() {
		names = append(names, field.Tag.Get("verb"))
	}
	return names
}

func setOption(v cty.Value, target reflect.Value) error {
	t := target.Type()
	if _, ok := converters[t]; !ok && t.Kind() == reflect.Pointer {
		inner := reflect.New(t.Elem())
		if err := plain(v, inner); err != nil {
			return err
		}
		target.Set(inner)
		return nil
	}
	got, err := toGo(argument{value: v}, t)
	if err == nil {
		target.Set(got)
	}
	return err
}

// toTexts returns an object of texts.
func toTexts(v cty.Value) (map[string]string, error) {
	if !isObject(v) {
		return nil, fmt.Errorf("expected an object { name = \"text\", … }, not %s", describe(v))
	}
	out := map[string]string{}
	members := v.AsValueMap()
	for _, key := range sortedKeys(members) {
		item := members[key]
		if item.Type() != cty.String || item.IsNull() {
			return nil, fmt.Errorf("expected strings, not %s", describe(item))
		}
		out[key] = item.AsString()
	}
	return out, nil
}

// fromGo turns a verb's result into a value of the language.
func fromGo(v reflect.Value) (cty.Value, error) {
	switch x := v.Interface().(type) {
	case *table.Table:
		return cty.CapsuleVal(tableType, x), nil
	case *table.Column:
		return fromColumn(x), nil
	case transform.PythonState:
		return cty.CapsuleVal(generatorType, &x), nil
	case transform.Operand:
		return fromOperand(x), nil
	case pyjson.Value:
		return fromJSON(x)
	case table.Value:
		return fromCell(x), nil
	case []table.Value:
		return fromCells(x), nil
	case transform.Rows:
		return fromRows(x), nil
	case []string:
		return cty.TupleVal(lists.Of(x, cty.StringVal)), nil
	case int:
		return cty.NumberIntVal(int64(x)), nil
	case float64:
		return fromCell(table.FloatValue(x)), nil
	case string:
		return cty.StringVal(x), nil
	case bool:
		return cty.BoolVal(x), nil
	}
	if v.Kind() == reflect.Struct {
		attrs := map[string]cty.Value{}
		for i, name := range optionNames(v.Type()) {
			member, err := fromGo(v.Field(i))
			if err != nil {
				return cty.NilVal, err
			}
			attrs[name] = member
		}
		return cty.ObjectVal(attrs), nil
	}
	return cty.NilVal, fmt.Errorf("a result of Go type %s cannot be represented in the language", v.Type())
}

// intoGo converts a value of the language into a Go variable.
func intoGo[T any](v cty.Value, out *T) error {
	got, err := toGo(argument{value: v}, reflect.TypeFor[T]())
	if err == nil {
		*out = got.Interface().(T)
	}
	return err
}
