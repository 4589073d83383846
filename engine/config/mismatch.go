package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/step"
)

// mismatch finds the first part of v that prevents its conversion to want, such
// as "[1]", and says what it must be, such as "must be string, not a list". It
// does not quote strings, which may be sensitive.
func mismatch(v cty.Value, want cty.Type) (path, text string) {
	v, _ = v.Unmark()
	ty := v.Type()
	if !v.IsNull() && v.IsKnown() {
		switch {
		case (want.IsListType() || want.IsSetType()) && (ty.IsListType() || ty.IsTupleType() || ty.IsSetType()):
			return wrongElement(v, want.ElementType(), func(k cty.Value, i int) string { return "[" + strconv.Itoa(i) + "]" })
		case want.IsMapType() && (ty.IsMapType() || ty.IsObjectType()):
			return wrongElement(v, want.ElementType(), func(k cty.Value, _ int) string { return fmt.Sprintf("[%q]", k.AsString()) })
		case want.IsObjectType() && (ty.IsMapType() || ty.IsObjectType()):
			return wrongAttribute(v, want)
		}
	}
	return "", leafMismatch(v, want)
}

func wrongElement(v cty.Value, want cty.Type, name func(key cty.Value, i int) string) (path, text string) {
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		key, elem := it.Element()
		if _, err := convert.Convert(elem, want); err != nil {
			path, text = mismatch(elem, want)
			return name(key, i) + path, text
		}
	}
	return "", "must have elements of the same type, " + wanted(want)
}

func wrongAttribute(v cty.Value, want cty.Type) (path, text string) {
	have := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(want.AttributeTypes())) {
		elem, ok := have[name]
		switch {
		case !ok && want.AttributeOptional(name):
		case !ok:
			return "", fmt.Sprintf("must have the attribute %q, which is missing", name)
		default:
			if _, err := convert.Convert(elem, want.AttributeType(name)); err != nil {
				path, text = mismatch(elem, want.AttributeType(name))
				return "." + name + path, text
			}
		}
	}
	return "", leafMismatch(v, want)
}

func leafMismatch(v cty.Value, want cty.Type) string {
	ty := v.Type()
	switch {
	case ty == step.ArtifactType && want == cty.String:
		return "must be string, not content, which cannot be converted to a string"
	case ty == cty.String && want == cty.Number:
		return "must be number, and the given string is not a number"
	case ty == cty.String && want == cty.Bool:
		return `must be bool, and the given string is neither "true" nor "false"`
	}
	return "must be " + wanted(want) + ", not " + got(v)
}

// wanted names a type as the reference pages do.
func wanted(ty cty.Type) string {
	switch {
	case ty == step.ArtifactType:
		return "content (a tree or blob, such as an output of another step)"
	case ty == cty.List(step.ArtifactType):
		return "a list of content (trees or blobs, such as outputs of other steps)"
	case ty == cty.Map(step.ArtifactType):
		return "a map of content (trees or blobs, such as outputs of other steps)"
	case ty.IsObjectType() && (step.HoldsContent(ty) || len(ty.AttributeTypes()) > 3):
		return "an object"
	default:
		return typeexpr.TypeString(ty)
	}
}

func got(v cty.Value) string {
	ty := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case ty == step.ArtifactType:
		return "content"
	case ty == cty.String:
		return "a string"
	case ty == cty.Number:
		return "a number"
	case ty == cty.Bool:
		return "a boolean"
	case ty.IsTupleType(), ty.IsListType():
		return "a list"
	case ty.IsSetType():
		return "a set"
	case ty.IsMapType(), ty.IsObjectType():
		return "an object"
	default:
		return ty.FriendlyName()
	}
}
