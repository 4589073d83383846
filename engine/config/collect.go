package config

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/mleflow/mleflow/engine/bounded"
)

// toCollection is the standard conversion function to a collection of any element
// type, in linear time.
func toCollection(ty cty.Type) function.Function {
	standard := stdlib.MakeToFunc(ty)
	return function.New(&function.Spec{
		Description: standard.Description(),
		Params:      standard.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			v, err := bounded.Convert(args[0], ty)
			if err != nil {
				return cty.NilType, function.NewArgError(0, err)
			}
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return bounded.Convert(args[0], ty) },
	})
}

// lengthFunc is the standard function length that, as in Terraform, also counts
// the attributes of an object and the characters of a string.
var lengthFunc = function.New(&function.Spec{
	Description: stdlib.LengthFunc.Description(),
	Params:      stdlib.LengthFunc.Params(),
	Type: func(args []cty.Value) (cty.Type, error) {
		if ty := args[0].Type(); ty.IsObjectType() || ty == cty.String {
			return cty.Number, nil
		}
		return stdlib.LengthFunc.ReturnTypeForValues(args)
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch ty := args[0].Type(); {
		case ty == cty.String:
			return stdlib.Strlen(args[0])
		case ty.IsObjectType():
			return cty.NumberIntVal(int64(len(ty.AttributeTypes()))).WithSameMarks(args[0]), nil
		}
		return stdlib.Length(args[0])
	},
})

// flattenFunc is the standard function flatten, which takes an element of a type that is
// not known yet for one that is no list.
var flattenFunc = function.New(&function.Spec{
	Description: stdlib.FlattenFunc.Description(),
	Params:      stdlib.FlattenFunc.Params(),
	Type: func(args []cty.Value) (cty.Type, error) {
		if mayBeList(args[0]) {
			return cty.DynamicPseudoType, nil
		}
		return stdlib.FlattenFunc.ReturnTypeForValues(args)
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if mayBeList(args[0]) {
			return cty.DynamicVal, nil // with the marks of the argument, as all that is unknown
		}
		return stdlib.FlattenFunc.Call(args)
	},
})

// mayBeList reports whether a value or an element may be a list, which is not known yet.
func mayBeList(v cty.Value) bool {
	plain, _ := v.Unmark()
	if !plain.IsKnown() || plain.IsNull() || !plain.CanIterateElements() {
		return !plain.IsKnown() && plain.Type() == cty.DynamicPseudoType
	}
	return slices.ContainsFunc(plain.AsValueSlice(), mayBeList)
}
