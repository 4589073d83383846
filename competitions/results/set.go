package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
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
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Or(board.Count(errX != nil)-board.Count(errY != nil), strings.Compare(a, b))
}

// Best returns the attempt with the best score; nil if none has a finite one.
func Best(list []*Attempt) (best *Attempt) {
	for _, a := range list {
		score := a.Report.ExactScore
		if score != nil && score.Finite() &&
			(best == nil || *score != *best.Report.ExactScore && (*score < *best.Report.ExactScore) == a.Report.LowerIsBetter) {
			best = a
		}
	}
	return best
}

// Distinct returns every attempt once, whatever the number of runs that have it: that of
// the newest run, with all of them in Runs. A graded one comes before one without a grade.
// Attempts without a key are all different. Programs that an agent has in one run, such as
// those of an agent whose environment holds the seed, become one. The order is that of the
// first of each, and the given attempts stay as they are.
func Distinct(list []*Attempt) []*Attempt {
	at := make(map[string]int, len(list))
	var out []*Attempt
	var runs [][]string
	for _, a := range list {
		key := a.Key()
		i, known := at[key]
		if key == "" || !known {
			i, at[key] = len(out), len(out)
			out, runs = append(out, a), append(runs, nil)
		} else if b := out[i]; a.Graded && !b.Graded || a.Graded == b.Graded && a.RunID > b.RunID {
			out[i] = a
		}
		if runs[i] = append(runs[i], a.Runs...); a.RunID != "" {
			runs[i] = append(runs[i], a.RunID)
		}
	}
	hours := map[string]*Hours{}
	for _, a := range list {
		hours[a.Key()] = cmp.Or(hours[a.Key()], a.Hours)
	}
	copies := make([]Attempt, len(out))
	for i, a := range out {
		copies[i] = *a
		if a.Key() != "" {
			copies[i].Hours = hours[a.Key()]
		}
		out[i], copies[i].Runs = &copies[i], unique(runs[i])
	}
	uniteProgram(out)
	return out
}

// uniteProgram gives attempts of an agent that share a run one program, the first by name.
func uniteProgram(list []*Attempt) {
	type of struct{ agent, program string }
	type in struct{ agent, run string }
	parent, seen := map[of]of{}, map[in]of{}
	root := func(p of) of {
		for up, ok := parent[p]; ok; up, ok = parent[p] {
			p = up
		}
		return p
	}
	for _, a := range list {
		if a.Program == "" || a.Agent == board.Unlabelled {
			continue
		}
		own := of{a.Agent, a.Program}
		for _, run := range a.Runs {
			other, known := seen[in{a.Agent, run}]
			if !known {
				seen[in{a.Agent, run}] = own
			} else if x, y := root(own), root(other); other != own && x != y {
				parent[of{a.Agent, max(x.program, y.program)}] = of{a.Agent, min(x.program, y.program)}
			}
		}
	}
	for _, a := range list {
		if len(parent) > 0 {
			a.Program = root(of{a.Agent, a.Program}).program
		}
	}
}

// Rows returns the attempts of Distinct for a table. One that several steps graded has all
// its grades in the run that Distinct takes, each once.
func Rows(list []*Attempt) (rows []*Attempt) {
	type grade struct{ key, run, address string }
	taken, seen := map[string]*Attempt{}, map[grade]bool{}
	for _, a := range Distinct(list) {
		taken[a.Key()] = a
	}
	for _, a := range list {
		if a.Key() != "" {
			d, at := taken[a.Key()], grade{a.Key(), a.RunID, a.GradeAddress}
			if a.RunID != d.RunID || a.Graded != d.Graded || seen[at] {
				continue
			}
			seen[at] = true
			one := *a
			one.Runs, one.Program, one.Hours, a = d.Runs, d.Program, d.Hours, &one
		}
		rows = append(rows, a)
	}
	return rows
}

// Class is what attempts must share to be compared: the data, the version of the
// competitions as far as it is masked, the task and the conditions. See conditions.Class.
func (a *Attempt) Class() string {
	class := conditions.Class(a.Report.Conditions)
	if conditions.Rehearsed(a.Report.Conditions) && !strings.Contains(class, conditions.Rehearsal) {
		class += ", " + conditions.Rehearsal // the task, which says it, is not known
	}
	for _, data := range step.ConditionValues(a.Report.Conditions, conditions.Data) {
		if data != conditions.Rehearsal {
			class += ", " + data
		}
	}
	if competitions.IsMasked(a.Report.CompetitionVersion) {
		class += ", version " + a.Report.CompetitionVersion
	}
	return class
}

// classing returns a function that is Class and remembers its answers, since many attempts
// have the same conditions.
func classing() func(*Attempt) string {
	known := map[string]string{}
	return func(a *Attempt) string {
		key := strings.Join(a.Report.Conditions, "\x00") + "\x00" + a.Report.CompetitionVersion
		class, ok := known[key]
		if !ok {
			class = a.Class()
			known[key] = class
		}
		return class
	}
}

// Classes returns the classes of attempts, that of the most distinct attempts first. The
// letter of a class is Letter of its index.
func Classes(list []*Attempt) (classes []string) {
	size, seen, classOf := map[string]int{}, make(map[string]bool, len(list)), classing()
	for _, a := range list {
		key := a.Key()
		if seen[key] && key != "" {
			continue
		}
		seen[key] = true
		class := classOf(a)
		if size[class]++; size[class] == 1 {
			classes = append(classes, class)
		}
	}
	slices.SortFunc(classes, func(a, b string) int { return cmp.Or(size[b]-size[a], strings.Compare(a, b)) })
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
	asideProgram    = "of another program"
	asideVersion    = "at another version"
)

// Aside counts the attempts that are not compared, by reason.
type Aside map[string]int

// String says what was set aside: "12 attempts are not compared: 8 rehearsals, 3 masked,
// 1 fork"; "" for nothing.
func (s Aside) String() string {
	total := 0
	var parts []string
	for _, why := range []string{asideRehearsal, asideMasked, asideFork, asideNotFinal, asideNotGraded, asideConditions, asideProgram, asideVersion} {
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

// take sets the attempts aside for which out holds, and returns the others.
func (s Aside) take(list []*Attempt, why string, out func(*Attempt) bool) []*Attempt {
	n := len(list)
	if list = slices.DeleteFunc(list, out); n > len(list) {
		s[why] = n - len(list)
	}
	return list
}

// Selection says which attempts are compared.
type Selection struct {
	// Class is the class that is taken; "" is the one with the most attempts that count,
	// of those of real data where there are such.
	Class string
	// Programs lets attempts of several programs under one label be one agent's. Without
	// it those of the program of the newest run count.
	Programs bool
	// versions are those that are taken of competitions; of others it is the one with the
	// most attempts.
	versions map[string]string
}

// Comparable returns the attempts that can be compared with each other: each once, final,
// of one class, of one program for each agent, and at one version of each competition. What
// it leaves out is counted by reason, so that every attempt of Distinct is in own or is
// counted once.
func (q Selection) Comparable(list []*Attempt) (own []*Attempt, class string, aside Aside) {
	final, aside := counting(list)
	if class = q.Class; class == "" {
		class = usual(final)
	}
	classOf := classing()
	for _, a := range final {
		if classOf(a) == class {
			own = append(own, a)
		} else {
			aside[aparts(a)]++
		}
	}
	if !q.Programs {
		own = aside.take(own, asideProgram, outdated(own, classOf))
	}
	versions := usualVersions(own)
	maps.Copy(versions, q.versions)
	own = aside.take(own, asideVersion, func(a *Attempt) bool { return a.Report.CompetitionVersion != versions[a.Competition()] })
	return own, class, aside
}

// counting returns the distinct attempts that have a final grade and are no forks.
func counting(list []*Attempt) (final []*Attempt, aside Aside) {
	aside = Aside{}
	for _, a := range Distinct(list) {
		if why := a.Uncounted(); why != "" {
			aside[why]++
		} else {
			final = append(final, a)
		}
	}
	return final, aside
}

// Uncounted says why the attempt does not count: it is not graded, a fork or not final. It is
// "" for one that does.
func (a *Attempt) Uncounted() string {
	switch set := a.Report.Conditions; {
	case !a.Graded:
		return asideNotGraded
	case conditions.IsFork(set):
		return asideFork
	case !conditions.Final(set):
		return asideNotFinal
	}
	return ""
}

// ranked reports whether the attempt could win a medal that counts.
func (a *Attempt) ranked() bool { return a.WithoutMedals() == "" && !a.Report.Unranked() }

// WithoutMedals says why the attempt cannot win a medal that counts: it is a rehearsal, or
// Uncounted says so. It is "" for all others.
func (a *Attempt) WithoutMedals() string {
	if conditions.Rehearsed(a.Report.Conditions) {
		return asideRehearsal
	}
	return a.Uncounted()
}

// newestBy returns the attempt of the newest run for each key.
func newestBy[K comparable](list []*Attempt, key func(*Attempt) K) map[K]*Attempt {
	newest := map[K]*Attempt{}
	for _, a := range list {
		if n := newest[key(a)]; n == nil || cmp.Or(strings.Compare(a.RunID, n.RunID), strings.Compare(a.Program, n.Program)) > 0 {
			newest[key(a)] = a
		}
	}
	return newest
}

// outdated tells the attempts of another program than the agent's newest in their class.
func outdated(list []*Attempt, classOf func(*Attempt) string) func(*Attempt) bool {
	label := func(a *Attempt) [2]string { return [2]string{classOf(a), a.Agent} }
	newest := newestBy(list, label)
	return func(a *Attempt) bool { return a.Program != newest[label(a)].Program }
}

// usualVersions are the versions of competitions with the most attempts, of those with as
// many the first.
func usualVersions(list []*Attempt) map[string]string {
	n, versions := map[[2]string]int{}, map[string]string{}
	for _, a := range list {
		n[[2]string{a.Competition(), a.Report.CompetitionVersion}]++
	}
	for at, count := range n {
		id, version := at[0], at[1]
		best, known := versions[id]
		if !known || cmp.Or(count-n[[2]string{id, best}], board.CompareNames(best, version)) > 0 {
			versions[id] = version
		}
	}
	return versions
}

// usual is the class of the most attempts, of real data if there are any.
func usual(list []*Attempt) string {
	real := lists.Where(list, func(a *Attempt) bool { return aparts(a) == asideConditions })
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

// Listed returns the attempts of a leaderboard, on which several classes stand apart: those
// of Rows that are graded, of real data and of versions that are not masked if there are such, and of
// the program of the agent's newest run in the class. Others are counted by
// reason, those without a grade excepted. Results that are not final and forks are listed,
// since a board says of each agent how many do not count.
func Listed(list []*Attempt) (own []*Attempt, aside Aside) {
	aside = Aside{}
	own = slices.DeleteFunc(Rows(list), func(a *Attempt) bool { return !a.Graded })
	if slices.ContainsFunc(own, func(a *Attempt) bool { return aparts(a) == asideConditions }) {
		own = slices.DeleteFunc(own, func(a *Attempt) bool {
			why := aparts(a)
			if why != asideConditions {
				aside[why]++
			}
			return why != asideConditions
		})
	}
	return aside.take(own, asideProgram, outdated(own, classing())), aside
}
