package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
)

// origin marks a value as made from an output of an instance.
type origin struct {
	inst *Instance
	// out indexes the outputs of its kind.
	out int
	// replayed says that the output is a recording that a model replays: an agent never
	// sees it as content.
	replayed bool
	// served says that the step that has the output as an argument keeps it from the code
	// that it runs.
	served bool
}

// String names the output and where it is made.
func (o origin) String() string {
	return fmt.Sprintf("output %q of %s (%s)", o.inst.Step.Kind.Outputs[o.out].Name, o.inst.Addr, position(o.inst.Step.Range))
}

type sensitiveMark string

// sensitive marks a value that must not be stored or shown.
const sensitive = sensitiveMark("sensitive")

// unmark returns v without marks, adding those found to marks.
func unmark(v cty.Value, marks map[any]struct{}) cty.Value {
	if ty := v.Type(); ty.IsPrimitiveType() || ty.IsCapsuleType() {
		plain, found := v.Unmark()
		maps.Copy(marks, found)
		return plain
	}
	if !v.ContainsMarked() {
		return v
	}
	plain, found := v.UnmarkDeep()
	maps.Copy(marks, found)
	return plain
}

// withMarks returns v with marks, which there seldom are.
func withMarks(v cty.Value, marks cty.ValueMarks) cty.Value {
	if len(marks) == 0 {
		return v
	}
	return v.WithMarks(marks)
}

// originsOf returns the origins among marks, by instance and output.
func originsOf(marks map[any]struct{}) []origin {
	var found []origin
	for m := range marks {
		if o, ok := m.(origin); ok {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b origin) int {
		return cmp.Or(cmp.Compare(a.inst.index, b.inst.index), cmp.Compare(a.out, b.out))
	})
	return found
}

// hidden names something among marks that not even people see without asking for it: a
// private file, or an output that holds answers. It returns "" if there is nothing.
func hidden(marks map[any]struct{}) (what string) {
	for m := range marks {
		name := ""
		switch m := m.(type) {
		case privateFile:
			name = string(m)
		case origin:
			if m.hidden() {
				name = m.String()
			}
		}
		if name != "" && (what == "" || name < what) {
			what = name
		}
	}
	return what
}

// isText reports whether there is something private among marks that is not content.
func isText(marks map[any]struct{}) bool {
	for m := range marks {
		o, made := m.(origin)
		if _, read := m.(privateFile); read || made && o.private() && o.inst.Step.Kind.Outputs[o.out].Type != step.ArtifactType {
			return true
		}
	}
	return false
}

// concealed reports whether text that is made from a value with these marks must not be
// shown. The marks of outputs that are content do not count: their content is not text.
func concealed(marks map[any]struct{}) bool {
	text := map[any]struct{}{}
	for m := range marks {
		if o, ok := m.(origin); !ok || o.inst.Step.Kind.Outputs[o.out].Type != step.ArtifactType {
			text[m] = struct{}{}
		}
	}
	_, sensitive := marks[sensitive]
	return sensitive || hidden(text) != ""
}

// shownMarks are the marks of what is shown of a value: of content only its digest is.
func shownMarks(v cty.Value) map[any]struct{} {
	marks := map[any]struct{}{}
	var add func(v cty.Value)
	add = func(v cty.Value) {
		plain, own := v.Unmark()
		a := artifactOf(plain)
		for m := range own {
			o, ok := m.(origin)
			content := ok && o.inst.Step.Kind.Outputs[o.out].Type == step.ArtifactType ||
				a != nil && a.Local != nil && m == privateFile(a.Local.Path())
			if plain.Type() != step.ArtifactType || !content {
				marks[m] = struct{}{}
			}
		}
		if !plain.IsNull() && plain.IsKnown() && plain.CanIterateElements() {
			for it := plain.ElementIterator(); it.Next(); {
				_, elem := it.Element()
				add(elem)
			}
		}
	}
	add(v)
	return marks
}

// reading is what an instance reads for an argument, a limit or its for_each.
type reading struct {
	name  string
	expr  hcl.Expression
	marks map[any]struct{}
}
