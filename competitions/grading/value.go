package grading

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

func isList(v cty.Value) bool {
	t := v.Type()
	return t.IsTupleType() || t.IsListType() || t.IsSetType()
}

func isObject(v cty.Value) bool { return v.Type().IsObjectType() || v.Type().IsMapType() }

// textList reads a list of texts.
func textList(v cty.Value) ([]string, error) {
	if !isList(v) {
		return nil, fmt.Errorf("expected a list of strings, found a %s", v.Type().FriendlyName())
	}
	out := make([]string, 0, v.LengthInt())
	for _, item := range v.AsValueSlice() {
		if item.IsNull() || item.Type() != cty.String {
			return nil, fmt.Errorf("expected a list of strings, found a %s in it", item.Type().FriendlyName())
		}
		out = append(out, item.AsString())
	}
	return out, nil
}

// number reads a number.
func number(v cty.Value) (float64, error) {
	if v.IsNull() || v.Type() != cty.Number {
		return 0, fmt.Errorf("expected a number, found a %s", v.Type().FriendlyName())
	}
	x, _ := v.AsBigFloat().Float64()
	return x, nil
}

// truth reads a boolean.
func truth(v cty.Value) (bool, error) {
	b, err := convert.Convert(v, cty.Bool)
	if err != nil || v.Type() == cty.String {
		return false, fmt.Errorf("expected true or false, found a %s", v.Type().FriendlyName())
	}
	return b.True(), nil
}

// plainValue turns a value into what a metric's parameters hold.
func plainValue(v cty.Value) (any, error) {
	switch {
	case v.IsNull():
		return nil, fmt.Errorf("the value is null")
	case v.Type() == cty.String:
		return v.AsString(), nil
	case v.Type() == cty.Bool:
		return v.True(), nil
	case v.Type() == cty.Number:
		return number(v)
	}
	return textList(v)
}

// options are the fields of an object that a requirement takes.
type options map[string]cty.Value

// objectOptions reads an object with no other fields than the known ones.
func objectOptions(v cty.Value, known ...string) (options, error) {
	out := options{}
	fields := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no field is named %q (known: %v)", name, known)
		}
		out[name] = fields[name]
	}
	return out, nil
}

func (o options) number(name string, otherwise float64) (float64, error) {
	v, ok := o[name]
	if !ok {
		return otherwise, nil
	}
	x, err := number(v)
	if err != nil {
		return math.NaN(), fmt.Errorf("%s: %w", name, err)
	}
	return x, nil
}

func (o options) text(name, otherwise string) (string, error) {
	v, ok := o[name]
	if !ok {
		return otherwise, nil
	}
	if v.IsNull() || v.Type() != cty.String {
		return "", fmt.Errorf("%s: expected a text", name)
	}
	return v.AsString(), nil
}
