package step

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Conditioned is implemented by steps whose results depend on conditions that
// every reader of a result must see, such as the isolation of an agent or the
// task it was given. A condition is "key=value" without spaces or commas, the key in
// lower case. Conditions is pure and fast: plan calls it.
//
// Conditions travel with content. The outputs of a step have its own conditions
// and those of everything that it consumed, no matter what its kind is. They
// are fields of its key, so they appear in its record, in locks and in bundles.
type Conditioned interface{ Conditions() []string }

// ConditionLabel is the prefix of labels of conditions in a key.
const ConditionLabel = "condition."

// Conditions returns the conditions of the outputs of s with these arguments.
func Conditions(args Args, s Step) []string {
	c, ok := s.(Conditioned)
	if !ok {
		return args.Conditions
	}
	return UnionConditions(args.Conditions, c.Conditions())
}

// UnionConditions returns the sorted union of the sets, or nil if it is empty.
func UnionConditions(sets ...[]string) []string {
	all := slices.Concat(sets...)
	slices.Sort(all)
	return slices.Compact(all)
}

// ConditionValues returns the sorted values for a key in a set of conditions.
// There may be several if results were combined.
func ConditionValues(set []string, key string) []string {
	var values []string
	for _, c := range set {
		if k, v, _ := strings.Cut(c, "="); k == key {
			values = append(values, v)
		}
	}
	return values
}

// hashConditions adds one field per key of the conditions. Without conditions
// it adds nothing.
func hashConditions(h *digest.Hasher, set []string) {
	by := map[string][]string{}
	for _, c := range set {
		k, v, _ := strings.Cut(c, "=")
		by[k] = append(by[k], v)
	}
	for _, k := range slices.Sorted(maps.Keys(by)) {
		h.String(ConditionLabel+k, strings.Join(by[k], ", "))
	}
}

// The keys of conditions that follow from the tries at an action: the number of
// results up to this one, the cause why the result is not final, the models of the
// GPUs, how often the attempt went on from a checkpoint, and the outputs that a
// secret was found in.
const (
	Tries       = "tries"
	Provisional = "provisional"
	GPU         = "gpu"
	Resumes     = "resumes"
	SecretIn    = "secret_in"
)

// TriesConditions returns the conditions that follow from the tries at an
// action.
func TriesConditions(t cache.Tries) (set []string) {
	if n := t.Count(); n > 1 {
		set = append(set, Tries+"="+strconv.Itoa(n))
	}
	if t.Provisional != "" {
		set = append(set, Provisional+"="+t.Provisional)
	}
	if t.GPU != "" {
		set = append(set, GPU+"="+t.GPU)
	}
	if t.Resumes > 0 {
		set = append(set, Resumes+"="+strconv.Itoa(t.Resumes))
	}
	for output := range strings.FieldsSeq(t.SecretIn) {
		set = append(set, SecretIn+"="+output)
	}
	return set
}

// RecordedConditions returns the conditions in the fields of a key and those
// that follow from the tries at it.
func RecordedConditions(fields []digest.Field, t cache.Tries) []string {
	set := TriesConditions(t)
	for _, f := range fields {
		if k, ok := strings.CutPrefix(f.Label, ConditionLabel); ok {
			for v := range strings.SplitSeq(f.Value, ", ") {
				set = append(set, k+"="+v)
			}
		}
	}
	return UnionConditions(set)
}

// IsCondition reports whether a label in a key belongs to a condition.
func IsCondition(label string) bool { return strings.HasPrefix(label, ConditionLabel) }

// Pinned returns the fields of a key that a lock pins. It excludes the conditions that
// follow from tries, which differ for everyone who applies the lock.
func Pinned(fields []digest.Field) []digest.Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f digest.Field) bool {
		key, ok := strings.CutPrefix(f.Label, ConditionLabel)
		return ok && (key == Tries || key == Provisional || key == GPU || key == Resumes || key == SecretIn)
	})
}
