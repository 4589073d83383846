package prep

import (
	"fmt"
	"reflect"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

// converters turn a value of the language into each Go type that a verb's
// parameter may have.
var converters = map[reflect.Type]func(cty.Value) (any, error){
	reflect.TypeFor[*table.Table](): func(v cty.Value) (any, error) {
		return toTable(v)
	},
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
	reflect.TypeFor[[]string](): func(v cty.Value) (any, error) {
		if v.Type() == cty.String && !v.IsNull() {
			return []string{v.AsString()}, nil
		}
		cells, err := toCells(v)
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = c.String()
		}
		return texts, err
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
	if v.Type() == cellType {
		v = cty.NumberFloatVal(v.EncapsulatedValue().(*table.Value).Float())
	}
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

// options fills a struct of options from an object. Unknown names are refused.
func options(v cty.Value, t reflect.Type) (reflect.Value, error) {
	if v.IsNull() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return reflect.Value{}, fmt.Errorf("expected options { name = value, … }, not %s", describe(v))
	}
	out := reflect.New(t)
	members := v.AsValueMap()
	for _, name := range sortedKeys(members) {
		field, ok := optionField(t, name)
		if !ok {
			return out, fmt.Errorf("no option %q. %s", name, diag.Suggest(name, optionNames(t)))
		}
		target := out.Elem().FieldByIndex(field.Index)
		if err := setOption(members[name], target); err != nil {
			return out, fmt.Errorf("option %s: %w", name, err)
		}
	}
	return out, nil
}

func optionNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("verb"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func optionField(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("verb") == name {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
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
	if t.Kind() == reflect.Map {
		texts, err := toTexts(v)
		if err == nil {
			target.Set(reflect.ValueOf(texts))
		}
		return err
	}
	got, err := toGo(argument{value: v}, t)
	if err == nil {
		target.Set(got)
	}
	return err
}

// toTexts returns an object of texts.
func toTexts(v cty.Value) (map[string]string, error) {
	if v.IsNull() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
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
		items := make([]cty.Value, len(x))
		for i, s := range x {
			items[i] = cty.StringVal(s)
		}
		return cty.TupleVal(items), nil
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
		for _, name := range optionNames(v.Type()) {
			field, _ := optionField(v.Type(), name)
			member, err := fromGo(v.FieldByIndex(field.Index))
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
