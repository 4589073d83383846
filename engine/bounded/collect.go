package bounded

import (
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// collector converts the arguments of a function that accepts collections of
// any element type, such as join. The standard conversion of a tuple compares
// the types of all pairs of elements. This one takes linear time if they are
// equal.
type collector struct {
	params []function.Parameter
	rest   *function.Parameter
	// opens reports whether the function has such parameters.
	opens bool
}

// open returns the parameters with each collection of any type replaced by any
// value.
func (c collector) open() ([]function.Parameter, *function.Parameter) {
	params := slices.Clone(c.params)
	for i := range params {
		if ofAny(params[i].Type) {
			params[i].Type = cty.DynamicPseudoType
		}
	}
	if c.rest == nil || !ofAny(c.rest.Type) {
		return params, c.rest
	}
	rest := *c.rest
	rest.Type = cty.DynamicPseudoType
	return params, &rest
}

func ofAny(ty cty.Type) bool {
	return ty.IsCollectionType() && (ty.ElementType() == cty.DynamicPseudoType || ty.ElementType() == cty.String)
}

// opens reports whether a function has such parameters.
func opens(f function.Function) bool {
	rest := f.VarParam()
	return rest != nil && ofAny(rest.Type) || slices.ContainsFunc(f.Params(), func(p function.Parameter) bool { return ofAny(p.Type) })
}

func (c collector) convert(args []cty.Value) ([]cty.Value, error) {
	if !c.opens {
		return args, nil
	}
	out := slices.Clone(args)
	for i, arg := range args {
		ty := cty.DynamicPseudoType
		if i < len(c.params) {
			ty = c.params[i].Type
		} else if c.rest != nil {
			ty = c.rest.Type
		}
		if !ofAny(ty) || arg.Type() == cty.DynamicPseudoType {
			continue
		}
		v, err := Convert(arg, ty)
		if err != nil {
			return nil, function.NewArgError(i, err)
		}
		out[i] = v
	}
	return out, nil
}

// Convert is like convert.Convert but takes linear time for a tuple whose
// elements have the same type. The standard conversion compares the types of
// all pairs of elements. Convert refuses to do so if it would take long.
func Convert(v cty.Value, ty cty.Type) (cty.Value, error) {
	if ty.IsListType() || ty.IsSetType() {
		if list, ok := Uniform(v, cty.ListVal); ok {
			v = list
		}
	}
	if ty.IsCollectionType() && compared(v) > maxCompared {
		return v, fmt.Errorf("it has %d elements, perhaps of different types, which would all be compared", v.LengthInt())
	}
	return convert.Convert(v, ty)
}

// maxCompared bounds the number of pairs of types that a conversion compares.
const maxCompared = 8000 * 8000

// compared returns the number of pairs of types that a conversion to a
// collection compares.
func compared(v cty.Value) float64 {
	if ty := v.Type(); ty.IsTupleType() && !v.IsNull() {
		return float64(len(ty.TupleElementTypes())) * float64(len(ty.TupleElementTypes()))
	} else if ty.IsObjectType() {
		return float64(len(ty.AttributeTypes())) * float64(len(ty.AttributeTypes()))
	}
	return 0
}

// Uniform builds a collection if v is a tuple of wholly known strings, numbers or
// booleans of one type.
func Uniform(v cty.Value, build func([]cty.Value) cty.Value) (cty.Value, bool) {
	if v.IsMarked() || !v.IsKnown() || v.IsNull() || !v.Type().IsTupleType() || v.LengthInt() == 0 {
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
