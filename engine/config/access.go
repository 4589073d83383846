package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/diag"
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
		what := "it"
		if a.of != "" {
			what = a.of
		}
		return fmt.Sprintf("There is no element [%s]: %s has %d elements, counted from 0.", Text(a.key), what, plain.LengthInt())
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
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
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
func traversalText(t hcl.Traversal) string {
	var b strings.Builder
	for _, part := range t {
		switch part := part.(type) {
		case hcl.TraverseRoot:
			b.WriteString(part.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + part.Name)
		case hcl.TraverseIndex:
			if part.Key.Type() == cty.String {
				fmt.Fprintf(&b, "[%q]", part.Key.AsString())
			} else {
				b.WriteString("[" + Text(part.Key) + "]")
			}
		}
	}
	return b.String()
}
