package conditions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/engine/step"
)

// Repeats says, of attempts, how often one was run at most, if that was more than once,
// how many do not count, some because they are forks, and how many have a secret in what
// they left.
type Repeats struct {
	Tries    int `json:"tries,omitempty"`
	NotFinal int `json:"not_final,omitempty"`
	Forked   int `json:"forked,omitempty"`
	// Leaked counts the attempts with the value of a secret in an output.
	Leaked int `json:"secret_found,omitempty"`
}

// RepeatsOf finds the repeats of attempts with conditions.
func RepeatsOf(sets ...[]string) (r Repeats) {
	for _, set := range sets {
		if n := Tries(set); n > 1 {
			r.Tries = max(r.Tries, n)
		}
		if !Final(set) {
			r.NotFinal++
		}
		if IsFork(set) {
			r.Forked++
		}
		if len(step.ConditionValues(set, step.SecretIn)) > 0 {
			r.Leaked++
		}
	}
	return r
}

// String goes on a sentence; it is empty where there is nothing to say.
func (r Repeats) String() (text string) {
	if r.Tries > 0 {
		text = fmt.Sprintf(", up to %d tries", r.Tries)
	}
	if n := r.NotFinal - r.Forked; n > 0 {
		text += fmt.Sprintf(", %d not final", n)
	}
	if r.Forked > 0 {
		text += fmt.Sprintf(", %d forked", r.Forked)
	}
	if r.Leaked > 0 {
		text += fmt.Sprintf(", %d with a secret in what was left", r.Leaked)
	}
	return text
}

// notes returns remarks on attempts that were repeated or are not final.
func (r Repeats) notes(a Attempts) (notes []string) {
	if r.Tries > 0 {
		repeated := len(slices.DeleteFunc(slices.Clone(a.Sets), func(set []string) bool { return Tries(set) == 1 }))
		notes = append(notes, fmt.Sprintf("Repeated: %d of %d attempts of %s were run more than once, up to %d times; the last result counts.", repeated, len(a.Sets), a.Agent, r.Tries))
	}
	if r.Forked > 0 {
		notes = append(notes, fmt.Sprintf("Forked: %d of %d attempts of %s began from a checkpoint of another attempt. They do not count.", r.Forked, len(a.Sets), a.Agent))
	}
	if r.Leaked > 0 {
		outputs := strings.Join(step.ConditionValues(step.UnionConditions(a.Sets...), step.SecretIn), ", ")
		notes = append(notes, fmt.Sprintf("Secret found: %d of %d attempts of %s left the value of a secret in what they made (%s). Bundles leave that out.", r.Leaked, len(a.Sets), a.Agent, outputs))
	}
	if n := r.NotFinal - r.Forked; n > 0 {
		causes := strings.Join(step.ConditionValues(step.UnionConditions(a.Sets...), step.Provisional), ", ")
		notes = append(notes, fmt.Sprintf("Not final: %d of %d attempts of %s ended because of the environment (%s). They do not count, and the next apply runs them again.", n, len(a.Sets), a.Agent, causes))
	}
	return notes
}

// Described is Shown, with the words that some attempts are of a rehearsal, and how often
// attempts were run.
func Described(sets ...[]string) string {
	return Shown(sets...) + rehearsed(sets) + RepeatsOf(sets...).String()
}

// rehearsed ends a description of attempts if some are of a rehearsal.
func rehearsed(sets [][]string) string {
	if slices.ContainsFunc(sets, Rehearsed) {
		return ", " + Rehearsal
	}
	return ""
}

// Final reports whether a result with these conditions counts: that of an attempt
// that the environment ended does not, nor does that of a fork.
func Final(set []string) bool {
	return len(step.ConditionValues(set, step.Provisional)) == 0 && !IsFork(set)
}

// Counted divides results into those that count and the conditions of the others.
func Counted[T any](list []T, of func(T) []string) (own []T, others [][]string) {
	for _, one := range list {
		if set := of(one); Final(set) {
			own = append(own, one)
		} else {
			others = append(others, set)
		}
	}
	return own, others
}

// IsFork reports whether a result with these conditions is of an attempt that began from
// a checkpoint of another one.
func IsFork(set []string) bool { return len(step.ConditionValues(set, Forked)) > 0 }

// Tries is the most tries that a result with these conditions took.
func Tries(set []string) int {
	most := 1
	for _, v := range step.ConditionValues(set, step.Tries) {
		n, _ := strconv.Atoi(v) // the engine wrote it
		most = max(most, n)
	}
	return most
}

// Resumes is the most times that an attempt with these conditions went on from a
// checkpoint.
func Resumes(sets ...[]string) (most int) {
	for _, set := range sets {
		for _, v := range step.ConditionValues(set, step.Resumes) {
			n, _ := strconv.Atoi(v) // the engine wrote it
			most = max(most, n)
		}
	}
	return most
}
