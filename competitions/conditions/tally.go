package conditions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Tally counts attempts by how they were isolated. The zero Tally is of none.
type Tally struct{ sets [][]string }

// Add counts a step of a kind, if that runs agents.
func (t *Tally) Add(kind string, set []string) {
	if kind == AttemptKind {
		t.sets = append(t.sets, set)
	}
}

// Any reports whether there are attempts.
func (t Tally) Any() bool { return len(t.sets) > 0 }

// Untrusted is Untrusted of the attempts.
func (t Tally) Untrusted() bool { return Untrusted(t.sets...) }

// Shown is Shown of the attempts, with the words that some are of a rehearsal, and how many
// are forks.
func (t Tally) Shown() string {
	return Shown(t.sets...) + rehearsed(t.sets) + Repeats{Forked: RepeatsOf(t.sets...).Forked}.String()
}

// String describes the isolation of the attempts, beginning with those that had none, and
// counts those that left a secret.
func (t Tally) String() string {
	if len(t.sets) == 0 {
		return "there are no attempts"
	}
	return cmp.Or(t.NotIsolated("were not isolated"), t.Shown()) + Repeats{Leaked: RepeatsOf(t.sets...).Leaked}.String()
}

// NotIsolated counts the attempts without isolation, with the given verb: "6 of 6
// attempts were not isolated (runtime process)"; "" for none.
func (t Tally) NotIsolated(verb string) string {
	open := open(t.sets)
	if len(open) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d attempts %s (runtime %s)", len(open), len(t.sets), verb, strings.Join(Runtimes(open...), ", "))
}

// open are the sets of attempts that were not isolated.
func open(sets [][]string) [][]string { return slices.DeleteFunc(slices.Clone(sets), isolated) }
