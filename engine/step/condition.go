package step

import (
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

// Conditioned is implemented by steps whose results were obtained under
// conditions that everybody must see who sees a result: how an agent was
// isolated, which task it was given. A condition is "key=value", in lower case
// and without spaces or commas. Conditions is pure and fast: plan calls it.
//
// Conditions travel with content. What a step gives has its own conditions and
// those of everything it consumed, whatever its kind; they are fields of its
// key, so that they are in its record, in locks and in bundles.
type Conditioned interface{ Conditions() []string }

// conditionLabel begins the labels of conditions in a key.
const conditionLabel = "condition."

// Conditions returns the conditions of what s gives with these arguments.
func Conditions(args Args, s Step) []string {
	c, ok := s.(Conditioned)
	if !ok {
		return args.Conditions
	}
	return UnionConditions(args.Conditions, c.Conditions())
}

// UnionConditions returns the conditions of any of the sets, sorted, each once;
// nil for none.
func UnionConditions(sets ...[]string) []string {
	var all []string
	for _, set := range sets {
		for _, c := range set {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	slices.Sort(all)
	return all
}

// ConditionValues returns the values that a set of conditions has for a key,
// sorted; several where results were put together.
func ConditionValues(set []string, key string) []string {
	var values []string
	for _, c := range set {
		if k, v, _ := strings.Cut(c, "="); k == key {
			values = append(values, v)
		}
	}
	return values
}

// hashConditions adds one field for each key of the conditions. Where there are
// none, nothing is added.
func hashConditions(h *digest.Hasher, set []string) {
	by := map[string][]string{}
	for _, c := range set {
		k, v, _ := strings.Cut(c, "=")
		by[k] = append(by[k], v)
	}
	for _, k := range slices.Sorted(maps.Keys(by)) {
		h.String(conditionLabel+k, strings.Join(by[k], ", "))
	}
}

// RecordedConditions returns the conditions in the fields of a key.
func RecordedConditions(fields []digest.Field) []string {
	var set []string
	for _, f := range fields {
		if k, ok := strings.CutPrefix(f.Label, conditionLabel); ok {
			for v := range strings.SplitSeq(f.Value, ", ") {
				set = append(set, k+"="+v)
			}
		}
	}
	return UnionConditions(set)
}

// IsCondition reports whether a label of a key is that of a condition.
func IsCondition(label string) bool { return strings.HasPrefix(label, conditionLabel) }
