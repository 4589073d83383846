// Package conditions has the words for the conditions that an attempt was made
// under, which travel from it to reports and leaderboards; see
// step.Conditioned.
//
// A condition is "key=value". Isolation says what kept the agent from the
// machine: "container", "sandbox", "host-files" for a sandbox that shows the programs
// of the machine in place of an image, or "none" where it could read the answers. A
// result of an attempt without isolation is untrusted, and says so wherever it
// is shown.
package conditions

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
)

// The keys of conditions.
const (
	// Isolation is the barrier between the agent and the files, processes and
	// network of the machine.
	Isolation = "isolation"
	// Runtime is the runtime that ran it.
	Runtime = "runtime"
	// Task is the task as the agent got it; see competitions.Task.
	Task = "task"
	// Environment is the origin of its packages, if these cannot be reproduced elsewhere.
	Environment = "environment"
	// Data is the kind of the competition's data, if they are not the real ones.
	Data = "data"
	// Chain is Unproven where no chain of attempts counts the tries at one.
	Chain    = "chain"
	Unproven = Chain + "=incomplete"
	// Forked is the checkpoint of another attempt from which an attempt began.
	Forked = "forked"
)

// Rehearsal is the value of Data for the synthetic data of a rehearsal. The scores of a
// rehearsal say nothing about those on the real data.
const Rehearsal = "rehearsal"

// What the data of a task that was drawn are of; the second is a value of Data.
const (
	OnTest       = "test"
	OnValidation = "validation"
)

// Rehearsed reports whether the data of a rehearsal were used.
func Rehearsed(set []string) bool { return slices.Contains(set, Data+"="+Rehearsal) }

// ErrMixedData means that results of rehearsals lie beside others.
var ErrMixedData = errors.New("results of a rehearsal cannot be beside those of real data")

// CheckData returns ErrMixedData if some results are of rehearsals and others are not.
func CheckData(sets ...[]string) error {
	if n := len(sets) - len(slices.DeleteFunc(slices.Clone(sets), Rehearsed)); n > 0 && n < len(sets) {
		return fmt.Errorf("%w: %d of %d are of a rehearsal", ErrMixedData, n, len(sets))
	}
	return nil
}

// The kinds of the steps behind a score: those that run agents and grade what they submit,
// that make the data, and that make boards.
const (
	AttemptKind   = "agent-run"
	CheckKind     = "check"
	GradeKind     = "grade"
	DownloadKind  = "download"
	PrepareKind   = "prepare"
	ChecksumKind  = "checksum"
	AggregateKind = "aggregate"
)

// HostVenv is the value of Environment of an agent that saw a virtual environment of
// the machine.
const HostVenv = "host-venv"

// The values of Isolation.
const (
	None      = "none"
	HostFiles = "host-files"
	Sandbox   = "sandbox"
	Container = "container"
)

// Isolations are the values of Isolation, the weakest first.
func Isolations() []string { return []string{None, HostFiles, Sandbox, Container} }

// AtLeast reports whether an isolation is as strong as a required one.
func AtLeast(isolation, required string) bool {
	return slices.Index(Isolations(), isolation) >= slices.Index(Isolations(), required)
}

// IsolationOf returns the isolation of a runtime; hostFiles reports whether agents see
// the programs of the machine.
func IsolationOf(runtime string, isolates, hostFiles bool) string {
	switch {
	case !isolates:
		return None
	case hostFiles:
		return HostFiles
	case runtime == Sandbox:
		return Sandbox
	}
	return Container
}

const mixedPrefix = "mixed: "

// The words that are shown for an isolation.
const (
	NotIsolated = "none (untrusted)"
	Unknown     = "unknown"
)

// Of returns the conditions of an attempt under a runtime.
func Of(runtime, isolation string) []string {
	return []string{Isolation + "=" + isolation, Runtime + "=" + runtime}
}

// Shown returns for people how attempts were isolated: NotIsolated, the one
// isolation, "mixed: …" where there are several, and "unknown" where no
// condition says it.
func Shown(sets ...[]string) string {
	return shown(Isolation, sets, func(v string) string {
		if v == None {
			return NotIsolated
		}
		return v
	})
}

// Told names the task that agents got, for people: the one task, "mixed: …" if
// there are several, and "unknown" if no condition names it.
func Told(sets ...[]string) string { return shown(Task, sets, func(v string) string { return v }) }

// Under says for people how attempts were made.
type Under struct {
	// Isolation describes how they were isolated; see Shown.
	Isolation string `json:"isolation"`
	// Untrusted means that one was not isolated; see Untrusted.
	Untrusted bool `json:"untrusted"`
	// Task is the form of the task that agents got; see Told.
	Task string `json:"task"`
}

// UnderOf describes attempts with conditions.
func UnderOf(sets ...[]string) Under { return Under{Shown(sets...), Untrusted(sets...), Told(sets...)} }

// shown puts the values of a key together. A set that has none is unknown.
func shown(key string, sets [][]string, word func(string) string) string {
	var words []string
	for _, set := range sets {
		values := step.ConditionValues(set, key)
		if len(values) == 0 {
			words = append(words, Unknown)
		}
		for _, v := range values {
			w := word(v)
			if key == Isolation && slices.Contains(set, Environment+"="+HostVenv) {
				w += " with host venv"
			}
			if key == Task && Rehearsed(set) {
				w += " (" + Rehearsal + ")"
			}
			words = append(words, w)
		}
	}
	words = step.UnionConditions(words)
	switch len(words) {
	case 0:
		return Unknown
	case 1:
		return words[0]
	}
	return mixedPrefix + strings.Join(words, ", ")
}

// Untrusted reports whether any of the results was obtained without isolation, so
// that the agent could have read the answers.
func Untrusted(sets ...[]string) bool {
	return len(open(sets)) > 0
}

// isolated reports whether no attempt is known to have run without isolation.
func isolated(set []string) bool {
	return !slices.Contains(step.ConditionValues(set, Isolation), None)
}

// Runtimes lists the runtimes of the sets, sorted.
func Runtimes(sets ...[]string) []string {
	return step.ConditionValues(step.UnionConditions(sets...), Runtime)
}

// Attempts are the conditions that the attempts of an agent were made under.
type Attempts struct {
	Agent string
	// Sets has one set an attempt.
	Sets [][]string
}

// Notes returns the facts that a reader of the scores must know: one sentence an
// agent, or one for all of them if it holds for every attempt.
func Notes(all []Attempts) []string {
	var notes []string
	sets := slices.Concat(lists.Of(all, func(a Attempts) [][]string { return a.Sets })...)
	if slices.ContainsFunc(sets, Rehearsed) {
		notes = append(notes, "Rehearsal: the data are synthetic and tiny. No score says anything about the real competition, and none earns a medal.")
	}
	alike := len(all) > 1 && len(open(sets)) == len(sets)
	if alike {
		notes = append(notes, fmt.Sprintf("Untrusted: no attempt was isolated (runtime %s). The agents could read whatever their user can, the answers included.",
			strings.Join(Runtimes(sets...), ", ")))
	}
	for _, a := range all {
		if open := open(a.Sets); len(open) > 0 && !alike {
			notes = append(notes, fmt.Sprintf("Untrusted: %d of %d attempts of %s were not isolated (runtime %s). The agent could read whatever its user can, the answers included.",
				len(open), len(a.Sets), a.Agent, strings.Join(Runtimes(open...), ", ")))
		}
		notes = append(notes, RepeatsOf(a.Sets...).notes(a)...)
	}
	return append(notes, mixed(sets)...)
}

// mixed notes that attempts got different tasks, as far as the tasks are known, or could
// use different resources.
func mixed(sets [][]string) (notes []string) {
	if told := Told(sets...); strings.HasPrefix(told, mixedPrefix) {
		notes = append(notes, fmt.Sprintf("Mixed tasks (%s): not all agents were given the same texts. Scores under different tasks cannot be compared.", strings.TrimPrefix(told, mixedPrefix)))
	}
	var differ []string
	for _, key := range Budgets() {
		if v := valuesOf(key, sets); strings.Contains(v, "|") {
			differ = append(differ, key+" "+v)
		}
	}
	if len(differ) > 0 {
		notes = append(notes, fmt.Sprintf("Mixed conditions (%s): not all attempts could use the same. Places are given within a class of equal conditions.", strings.Join(differ, ", ")))
	}
	return notes
}

// Definition returns a competition's definition at a version, that of the rehearsal if the
// conditions are of one. Its errors are of the arguments competition and version.
func Definition(catalog *competitions.Catalog, id, version string, set []string) (*competitions.Definition, error) {
	def, err := catalog.Get(id)
	if err != nil {
		return nil, step.WrongArg("competition", err)
	}
	if def, err = def.At(version); err != nil {
		return nil, step.WrongArg("version", err)
	}
	if Rehearsed(set) {
		def = def.Rehearsed()
	}
	return def, nil
}
