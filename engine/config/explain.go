package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// access is the index or attribute that a diagnostic is about, and the
// collection.
type access struct {
	// of is the collection as written, "" if it is not a plain reference.
	of         string
	collection cty.Value
	key        cty.Value
}

// explainAccess adds, for an element or attribute that does not exist, those
// that do. The expression language only says that it does not.
func explainAccess(d *hcl.Diagnostic) {
	if d.Summary != "Invalid index" && d.Summary != "Unsupported attribute" || d.EvalContext == nil {
		return
	}
	a, ok := accessOf(d)
	if !ok || a.key.IsNull() || !a.key.IsKnown() || a.key.IsMarked() {
		return
	}
	plain, _ := a.collection.Unmark()
	if plain.IsNull() || !plain.IsKnown() {
		return
	}
	if text := a.text(plain); text != "" {
		d.Detail = text
	}
}

func marksOf(v cty.Value) map[any]struct{} {
	marks := map[any]struct{}{}
	unmark(v, marks)
	return marks
}

func (a access) text(plain cty.Value) string {
	ty := plain.Type()
	named := ty.IsMapType() || ty.IsObjectType()
	switch {
	case named && a.key.Type() == cty.String:
		return a.among(a.key.AsString(), slices.Sorted(maps.Keys(plain.AsValueMap())))
	case (ty.IsListType() || ty.IsTupleType()) && a.key.Type() == cty.Number:
		return fmt.Sprintf("There is no element [%s]: %s has %d elements, counted from 0.", Text(a.key), cmp.Or(a.of, "it"), plain.LengthInt())
	}
	return ""
}

// shownNames is how many names are listed if none is similar.
const shownNames = 8

func (a access) among(name string, names []string) string {
	where, what := "here", "element"
	switch {
	case strings.HasPrefix(a.of, "step.") && strings.Count(a.of, ".") == 2:
		where, what = "of "+a.of, "instance"
	case a.of != "":
		where = "in " + a.of
	}
	text := fmt.Sprintf("There is no %s %q %s.%s", what, name, where, diag.DidYouMean(name, names))
	if len(names) == 0 {
		return text + " It is empty."
	}
	more := ""
	if len(names) > shownNames {
		more = fmt.Sprintf(" and %d more", len(names)-shownNames)
		names = names[:shownNames]
	}
	quoted := lists.Of(names, strconv.Quote)
	return text + fmt.Sprintf(" It has %s%s.", strings.Join(quoted, ", "), more)
}

// accessOf finds the access that a diagnostic points at.
func accessOf(d *hcl.Diagnostic) (access, bool) {
	switch e := d.Expression.(type) {
	case *hclsyntax.IndexExpr:
		collection, more := e.Collection.Value(d.EvalContext)
		key, again := e.Key.Value(d.EvalContext)
		t, _ := hcl.AbsTraversalForExpr(e.Collection)
		return access{traversalText(t), collection, key}, !more.HasErrors() && !again.HasErrors()
	case *hclsyntax.ScopeTraversalExpr:
		i := subjectStep(e.Traversal, d)
		if i < 1 {
			return access{}, false
		}
		collection, more := e.Traversal[:i].TraverseAbs(d.EvalContext)
		return access{traversalText(e.Traversal[:i]), collection, stepKey(e.Traversal[i])}, !more.HasErrors()
	case *hclsyntax.RelativeTraversalExpr:
		i := subjectStep(e.Traversal, d)
		source, more := e.Source.Value(d.EvalContext)
		if i < 0 || more.HasErrors() {
			return access{}, false
		}
		collection, more := e.Traversal[:i].TraverseRel(source)
		return access{"", collection, stepKey(e.Traversal[i])}, !more.HasErrors()
	}
	return access{}, false
}

// subjectStep returns which part of t the diagnostic points at, or -1.
func subjectStep(t hcl.Traversal, d *hcl.Diagnostic) int {
	return slices.IndexFunc(t, func(part hcl.Traverser) bool {
		return d.Subject != nil && part.SourceRange() == *d.Subject
	})
}

func stepKey(part hcl.Traverser) cty.Value {
	switch part := part.(type) {
	case hcl.TraverseAttr:
		return cty.StringVal(part.Name)
	case hcl.TraverseIndex:
		return part.Key
	}
	return cty.NilVal
}

// traversalText writes a reference as it is written in a file.
func traversalText(t hcl.Traversal) string { return string(hclwrite.TokensForTraversal(t).Bytes()) }

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
	}
	return typeexpr.TypeString(ty)
}

func got(v cty.Value) string {
	ty := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case ty.IsTupleType(), ty.IsListType():
		return "a list"
	case ty.IsSetType():
		return "a set"
	case ty.IsMapType(), ty.IsObjectType():
		return "an object"
	}
	return cmp.Or(map[cty.Type]string{step.ArtifactType: "content", cty.String: "a string", cty.Number: "a number", cty.Bool: "a boolean"}[ty], ty.FriendlyName())
}
