package bounded

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// collector converts the arguments of a function that accepts collections of
// any element type, such as join. The standard conversion of a tuple compares
// the types of all pairs of elements. Convert compares those that differ.
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

// Convert is convert.Convert in a time that grows with the number of elements of
// a tuple or object. The standard conversion to a collection compares the types of
// all pairs of elements. Convert compares each with the types that differ, and
// refuses values with so many of these that it would take long.
func Convert(v cty.Value, ty cty.Type) (cty.Value, error) {
	if !ty.IsCollectionType() || !structural(v) || ty.IsMapType() != v.Type().IsObjectType() {
		return convert.Convert(v, ty)
	}
	elems, of := v.AsValueSlice(), ty.ElementType()
	err := convertAll(elems, of)
	if err == nil && of.HasDynamicTypes() {
		types, steps := differing(elems)
		if steps > maxCompared {
			return cty.NilVal, fmt.Errorf("its %d elements have more than %d different types, which would all be compared", len(elems), len(types)-1)
		}
		if of, _ = convert.UnifyUnsafe(types); of == cty.NilType {
			return cty.NilVal, errors.New(convert.MismatchMessage(v.Type(), ty))
		}
		err = convertAll(elems, of)
	}
	switch {
	case err != nil:
		return cty.NilVal, err
	case !cty.CanListVal(elems):
		return cty.NilVal, errors.New("all elements must have the same type")
	case ty.IsListType():
		return cty.ListVal(elems), nil
	case ty.IsSetType():
		return cty.SetVal(elems), nil
	}
	all := make(map[string]cty.Value, len(elems))
	for i, key := range slices.Sorted(maps.Keys(v.Type().AttributeTypes())) { // the order of the elements
		all[key] = elems[i]
	}
	return cty.MapVal(all), nil
}

func convertAll(elems []cty.Value, of cty.Type) (err error) {
	for i, elem := range elems {
		if elems[i], err = Convert(elem, of); err != nil {
			return err
		}
	}
	return nil
}

// structural reports whether v is a tuple or object with elements, the value of
// a constructor or a for expression.
func structural(v cty.Value) bool {
	ty := v.Type()
	return (ty.IsTupleType() || ty.IsObjectType()) && !v.IsMarked() && v.IsKnown() && !v.IsNull() && v.LengthInt() > 0
}

// maxCompared bounds the number of pairs of types that a conversion compares.
const maxCompared = 8000 * 8000

// differing returns the different types of elements, and the number of comparisons
// that finding them took. It stops above maxCompared.
func differing(elems []cty.Value) (types []cty.Type, steps int) {
	for _, elem := range elems {
		at := slices.IndexFunc(types, elem.Type().Equals)
		if at < 0 {
			at, types = len(types), append(types, elem.Type())
		}
		if steps += at; steps > maxCompared {
			break
		}
	}
	return types, steps
}
