package config

import (
	"cmp"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// origin marks a value as made from an output of an instance.
type origin struct {
	inst *Instance
	// out indexes the outputs of its kind.
	out int
	// replayed says that the output is a recording that a model block replays.
	replayed bool
}

type sensitiveMark string

// sensitive marks a value that must not be stored or shown.
const sensitive = sensitiveMark("sensitive")

// unmark returns v without marks, adding those found to marks.
func unmark(v cty.Value, marks map[any]struct{}) cty.Value {
	if ty := v.Type(); ty.IsPrimitiveType() || ty.IsCapsuleType() {
		plain, found := v.Unmark()
		addMarks(marks, found)
		return plain
	}
	if !v.ContainsMarked() {
		return v
	}
	plain, found := v.UnmarkDeep()
	addMarks(marks, found)
	return plain
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

func addMarks(dst map[any]struct{}, src cty.ValueMarks) {
	for m := range src {
		dst[m] = struct{}{}
	}
}
