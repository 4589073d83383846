package results

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
)

// Sort orders attempts by competition, agent, seed and run, the newest run first.
func Sort(list []*Attempt) {
	slices.SortStableFunc(list, func(a, b *Attempt) int {
		return cmp.Or(board.CompareNames(a.Competition(), b.Competition()), board.CompareNames(a.Agent, b.Agent), CompareSeeds(a.Seed, b.Seed),
			strings.Compare(b.RunID, a.RunID), board.CompareNames(a.Address, b.Address), board.CompareNames(a.GradeAddress, b.GradeAddress))
	})
}

// CompareSeeds orders seeds: numbers by value, then other strings.
func CompareSeeds(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	switch {
	case errX == nil && errY == nil:
		return cmp.Compare(x, y)
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return strings.Compare(a, b)
}

// Distinct returns every attempt once, whatever the number of runs that have it: that of
// the newest run, with all of them in Runs. A graded one comes before one without a grade.
// Attempts without a key are all different.
func Distinct(list []*Attempt) []*Attempt {
	at := map[string]int{}
	var out []*Attempt
	for _, a := range list {
		one := *a
		if len(one.Runs) == 0 && one.RunID != "" {
			one.Runs = []string{one.RunID}
		}
		i, known := at[a.Key()]
		if a.Key() == "" || !known {
			at[a.Key()] = len(out)
			out = append(out, &one)
			continue
		}
		runs := append(slices.Clone(out[i].Runs), one.Runs...)
		if newer := one.RunID > out[i].RunID; one.Graded && !out[i].Graded || newer && one.Graded == out[i].Graded {
			out[i] = &one
		}
		slices.Sort(runs)
		out[i].Runs = slices.Compact(runs)
	}
	return out
}

// Class is what attempts must share to be compared: the data, the version of the
// competitions as far as it is masked, the task and the conditions. See conditions.Class.
func (a *Attempt) Class() string {
	class := conditions.Class(a.Report.Conditions)
	if conditions.Rehearsed(a.Report.Conditions) {
		class += ", " + conditions.Rehearsal
	}
	if competitions.IsMasked(a.Report.CompetitionVersion) {
		class += ", version " + a.Report.CompetitionVersion
	}
	return class
}

// Classes returns the classes of attempts, that of the most attempts first. The letter of
// a class is Letter of its index.
func Classes(list []*Attempt) (classes []string) {
	size := map[string]int{}
	for _, a := range list {
		class := a.Class()
		if size[class]++; size[class] == 1 {
			classes = append(classes, class)
		}
	}
	slices.SortStableFunc(classes, func(a, b string) int { return cmp.Or(size[b]-size[a], strings.Compare(a, b)) })
	return classes
}

// Letter names a class by its index: A, B, …, Z, 27.
func Letter(i int) string {
	if i < 0 || i >= 26 {
		return strconv.Itoa(i + 1)
	}
	return string(rune('A' + i))
}

// The reasons for which attempts are set aside.
const (
	asideRehearsal  = "rehearsal"
	asideMasked     = "masked"
	asideFork       = "fork"
	asideNotFinal   = "not final"
	asideNotGraded  = "not graded"
	asideConditions = "under other conditions"
	asideProgram    = "of an earlier program"
)

// Aside counts the attempts that are not compared, by reason.
type Aside map[string]int

// String says what was set aside: "12 attempts are not compared: 8 rehearsals, 3 masked,
// 1 fork"; "" for nothing.
func (s Aside) String() string {
	total := 0
	var parts []string
	for _, why := range []string{asideRehearsal, asideMasked, asideFork, asideNotFinal, asideNotGraded, asideConditions, asideProgram} {
		n := s[why]
		if total += n; n == 0 {
			continue
		}
		if n > 1 && (why == asideRehearsal || why == asideFork) {
			why += "s"
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, why))
	}
	switch total {
	case 0:
		return ""
	case 1:
		return "1 attempt is not compared: " + strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%d attempts are not compared: %s", total, strings.Join(parts, ", "))
}

// Selection says which attempts are compared.
type Selection struct {
	// Class is the class that is taken; "" is the one with the most attempts that count,
	// of those of real data where there are such.
	Class string
	// Programs lets attempts of several programs under one label be one agent's. Without
	// it the newest program counts.
	Programs bool
}

// Comparable returns the attempts that can be compared with each other: each once, final,
// of one class, and of one program for each agent. What it leaves out is counted by reason.
func (q Selection) Comparable(list []*Attempt) (own []*Attempt, class string, aside Aside) {
	aside = Aside{}
	var final []*Attempt
	for _, a := range Distinct(list) {
		switch set := a.Report.Conditions; {
		case !a.Graded:
			aside[asideNotGraded]++
		case conditions.IsFork(set):
			aside[asideFork]++
		case !conditions.Final(set):
			aside[asideNotFinal]++
		default:
			final = append(final, a)
		}
	}
	if class = q.Class; class == "" {
		class = usual(final)
	}
	newest := map[string]*Attempt{}
	for _, a := range final {
		if a.Class() != class {
			aside[aparts(a)]++
			continue
		}
		own = append(own, a)
		if n := newest[a.Agent]; n == nil || a.RunID > n.RunID {
			newest[a.Agent] = a
		}
	}
	if !q.Programs {
		own = slices.DeleteFunc(own, func(a *Attempt) bool {
			old := a.Program != newest[a.Agent].Program
			aside[asideProgram] += board.Count(old)
			return old
		})
	}
	return own, class, aside
}

// usual is the class of the most attempts, of real data if there are any.
func usual(list []*Attempt) string {
	real := slices.DeleteFunc(slices.Clone(list), func(a *Attempt) bool { return aparts(a) != asideConditions })
	for _, set := range [][]*Attempt{real, list} {
		if classes := Classes(set); len(classes) > 0 {
			return classes[0]
		}
	}
	return ""
}

// aparts is the reason for which an attempt of another class is set aside.
func aparts(a *Attempt) string {
	switch {
	case conditions.Rehearsed(a.Report.Conditions):
		return asideRehearsal
	case competitions.IsMasked(a.Report.CompetitionVersion):
		return asideMasked
	}
	return asideConditions
}

// ProgramOf is the digest of an agent's program, from the fields of the key of an attempt
// that are its own: all of the agent's but its name. It has twelve digits.
func ProgramOf(fields map[string]string) string {
	h := sha256.New()
	names := make([]string, 0, len(fields))
	for name := range fields {
		if strings.HasPrefix(name, "agent.") && name != "agent.name" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(h, "%d %s %d %s\n", len(name), name, len(fields[name]), fields[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// counts reports whether the result is final and no fork; see conditions.Final.
func (a *Attempt) counts() bool { return conditions.Final(a.Report.Conditions) }
