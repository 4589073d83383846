package lockfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

// Deviation is one difference from a lock.
type Deviation struct {
	Address string `json:"address"`
	// Field is the label of an input, or "output NAME".
	Field string `json:"field"`
	// Was is the value in the lock and Is the actual value. One of them is
	// empty if it is missing there.
	Was string `json:"was"`
	Is  string `json:"is"`
}

// String returns the deviation as one phrase.
func (d Deviation) String() string {
	switch {
	case d.Field == "":
		return fmt.Sprintf("%s is %s", d.Address, d.Is)
	case d.Was == "":
		return fmt.Sprintf("%s: %s is %s; it is not in the lock", d.Address, d.Field, d.Is)
	case d.Is == "":
		return fmt.Sprintf("%s: %s is missing; the lock has %s", d.Address, d.Field, d.Was)
	}
	return fmt.Sprintf("%s: %s is %s; the lock has %s", d.Address, d.Field, d.Is, d.Was)
}

// CheckInputs compares the fields of a key with the locked ones, sorted by
// label. Varying and withheld inputs are skipped; see the package
// documentation.
func (s Step) CheckInputs(inputs map[string]string) []Deviation {
	return s.compare("", s.Inputs, inputs, func(was string) bool { return varies(was) || withheld(was) })
}

// CheckAction checks inputs that CheckInputs cannot compare: if inputs are
// withheld and none varies, the action must be the locked one.
func (s Step) CheckAction(action digest.ActionID) []Deviation {
	if s.Action.IsZero() || s.Action == action || s.has(varies) || !s.has(withheld) {
		return nil
	}
	return []Deviation{{s.Addr.String(), "action, by an input that the lock withholds,", s.Action.String(), action.String()}}
}

// Binds reports whether the locked outputs apply to an action. They do not if
// an input varies and had a different value.
func (s Step) Binds(action digest.ActionID) bool {
	return s.Action.IsZero() || s.Action == action || !s.has(varies)
}

func (s Step) has(what func(string) bool) bool {
	for _, value := range s.Inputs {
		if what(value) {
			return true
		}
	}
	return false
}

// CheckOutputs compares outputs with the locked ones, sorted by name. Without
// locked outputs there is nothing to compare. Withheld values are skipped.
func (s Step) CheckOutputs(outputs map[string]string) []Deviation {
	if s.Outputs == nil {
		return nil
	}
	return s.compare("output ", s.Outputs, outputs, withheld)
}

func (s Step) compare(prefix string, was, is map[string]string, skip func(was string) bool) (list []Deviation) {
	names := slices.Concat(slices.Collect(maps.Keys(was)), slices.Collect(maps.Keys(is)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		old, had := was[name]
		now, has := is[name]
		if had == has && (old == now || skip(old)) {
			continue
		}
		list = append(list, Deviation{s.Addr.String(), prefix + name, old, now})
	}
	return list
}

// Compare lists the differences between was and is: the program's version,
// steps in only one of them, inputs and outputs.
func Compare(was, is *File) (list []Deviation) {
	if was.Version != is.Version {
		list = append(list, Deviation{"mleflow", "version", was.Version, is.Version})
	}
	for _, s := range was.Steps {
		now, found := is.Find(s.Addr)
		if !found {
			list = append(list, Deviation{Address: s.Addr.String(), Is: "in the lock and not in the pipeline"})
			continue
		}
		list = append(list, s.CheckInputs(now.Inputs)...)
		if now.Outputs != nil {
			list = append(list, s.CheckOutputs(now.Outputs)...)
		}
	}
	for _, s := range is.Steps {
		if _, found := was.Find(s.Addr); !found {
			list = append(list, Deviation{Address: s.Addr.String(), Is: "in the pipeline and not in the lock"})
		}
	}
	return list
}

// withheldPrefix is the prefix of a value that the lock of a published run does
// not disclose.
const withheldPrefix = "(withheld: "

// Withhold returns the replacement, with the reason, for an undisclosed input
// or small output.
func Withhold(why string) string { return withheldPrefix + why + ")" }

// withheld reports whether a value was made by Withhold.
func withheld(value string) bool { return strings.HasPrefix(value, withheldPrefix) }

func varies(value string) bool { _, ok := Varying(value); return ok }

// varyingPrefix is the prefix of the value of an input that varies.
const varyingPrefix = "varies: "

// Vary returns the value for an input that contains a varying output. from
// names its origin.
func Vary(from string) string { return varyingPrefix + from }

// Varying reports whether a value was made by Vary, and returns the origin.
func Varying(value string) (from string, ok bool) {
	from, ok = strings.CutPrefix(value, varyingPrefix)
	if !ok {
		return "", false
	}
	return from, true
}
