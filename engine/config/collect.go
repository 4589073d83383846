package config

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// toCollection is a standard conversion function, made linear for the results
// of for-expressions: a tuple or object whose elements have the same type. (The
// standard one compares the type of every element with that of every other.)
func toCollection(standard function.Function, build func([]cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		Description: standard.Description(),
		Params:      standard.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if v, ok := uniform(args[0], build); ok {
				return v.Type(), nil
			}
			return standard.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if v, ok := uniform(args[0], build); ok {
				return v, nil
			}
			return standard.Call(args)
		},
	})
}

// uniform builds the collection if v is a tuple of wholly known strings,
// numbers or booleans of one type.
func uniform(v cty.Value, build func([]cty.Value) cty.Value) (cty.Value, bool) {
	if !v.IsKnown() || v.IsNull() || v.IsMarked() || !v.Type().IsTupleType() || v.LengthInt() == 0 {
		return cty.NilVal, false
	}
	elems := v.AsValueSlice()
	ty := elems[0].Type()
	if !ty.IsPrimitiveType() {
		return cty.NilVal, false
	}
	for _, e := range elems {
		if e.IsMarked() || e.Type() != ty || !e.IsKnown() {
			return cty.NilVal, false
		}
	}
	return build(elems), true
}

var (
	toSetFunc  = toCollection(stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), cty.SetVal)
	toListFunc = toCollection(stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), cty.ListVal)
)
