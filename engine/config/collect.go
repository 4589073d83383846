package config

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/mleflow/mleflow/engine/bounded"
)

// toCollection is a standard conversion function, made linear for the results
// of for-expressions: a tuple or object whose elements have the same type. (The
// standard one compares the type of every element with that of every other.)
func toCollection(standard function.Function, build func([]cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		Description: standard.Description(),
		Params:      standard.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if v, ok := bounded.Uniform(args[0], build); ok {
				return v.Type(), nil
			}
			return standard.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if v, ok := bounded.Uniform(args[0], build); ok {
				return v, nil
			}
			return standard.Call(args)
		},
	})
}

var (
	toSetFunc  = toCollection(stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), cty.SetVal)
	toListFunc = toCollection(stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), cty.ListVal)
)
