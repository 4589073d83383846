package conditions

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/engine/step"
)

// Repeats says, of attempts, how often one was run at most, if that was more than once,
// how many do not count, some because they are forks, and how many have a secret in what
// they left.
type Repeats struct {
	Tries    int `json:"tries,omitempty"`
	NotFinal int `json:"not_final,omitempty"`
	Forked   int `json:"forked,omitempty"`
	// Steered counts those that people steered while they ran, and Stalled those that were
	// stopped or put back because they stood still.
	Steered int `json:"steered,omitempty"`
	Stalled int `json:"stalled,omitempty"`
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
		byHand, byStall := steerings(set)
		if len(byHand) > 0 {
			r.Steered++
		}
		if len(byStall) > 0 {
			r.Stalled++
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
	if r.Steered > 0 {
		text += fmt.Sprintf(", %d steered by hand", r.Steered)
	}
	if r.Stalled > 0 {
		text += fmt.Sprintf(", %d stalled", r.Stalled)
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
	byHand, byStall := steerings(step.UnionConditions(a.Sets...))
	if r.Steered > 0 {
		notes = append(notes, fmt.Sprintf("Steered by hand: %d of %d attempts of %s (%s). Their class says so.", r.Steered, len(a.Sets), a.Agent, strings.Join(byHand, ", ")))
	}
	if r.Stalled > 0 {
		notes = append(notes, fmt.Sprintf("Stalled: %d of %d attempts of %s were stopped or put back because they stood still (%s). Their class says so.", r.Stalled, len(a.Sets), a.Agent, strings.Join(byStall, ", ")))
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
func Tries(set []string) (most int) {
	for _, v := range step.ConditionValues(set, step.Tries) {
		n, _ := strconv.Atoi(v) // the engine wrote it
		most = max(most, n)
	}
	return max(1, most)
}

// steerings returns the words of a set that say how people, and how stalls, steered an
// attempt.
func steerings(set []string) (byHand, byStall []string) {
	for _, v := range step.ConditionValues(set, step.Steered) {
		if step.ByStall(v) {
			byStall = append(byStall, v)
		} else {
			byHand = append(byHand, v)
		}
	}
	return byHand, byStall
}

// steered returns how an attempt was steered: "stopped by hand" of "stopped@3h12m0s".
func steered(set []string) (acts []string) {
	for _, v := range step.ConditionValues(set, step.Steered) {
		act, _, _ := strings.Cut(v, "@")
		switch act {
		case step.Stalled:
			act = "stopped early: stalled"
		case step.RequeuedStalled:
			act = "requeued: stalled"
		default:
			act += " by hand"
		}
		acts = append(acts, act)
	}
	return acts
}

// ByHand says how a person steered an attempt with these conditions: "stopped early by hand
// at 3h12m0s", "time 26h by hand"; "" of one that nobody steered.
func ByHand(set []string) string {
	var ways []string
	var more time.Duration
	words, _ := steerings(set)
	for _, v := range words {
		if at, ok := strings.CutPrefix(v, "stopped@"); ok {
			ways = append(ways, "stopped early by hand at "+at)
		} else if by, err := time.ParseDuration(strings.TrimPrefix(v, Time+"+")); err == nil {
			more += by
		} else {
			ways = append(ways, v+" by hand")
		}
	}
	if limit, err := time.ParseDuration(strings.TrimSuffix(valuesOf(Time, [][]string{set}), "+waits")); more > 0 && err == nil {
		ways = append(ways, Time+" "+Limit(limit+more)+" by hand")
	} else if more > 0 {
		ways = append(ways, Time+"+"+Limit(more)+" by hand")
	}
	return strings.Join(ways, ", ")
}

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
