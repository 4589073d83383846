package results

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
)

// Group is the attempts of one program of an agent in one class.
type Group struct {
	Agent, Program string
	// Newest reports whether the agent's newest run has this program.
	Newest bool
	Class  string
	// Rehearsal means that the attempts cannot win a medal.
	Rehearsal bool
	Attempts  []*Attempt
}

// Groups divides attempts that are distinct and count by agent, program and class: agents in
// natural order, of each the newest program first and the largest class first. It also
// counts the attempts that are left out.
func Groups(list []*Attempt) (groups []*Group, aside Aside) {
	aside = Aside{}
	newest := Newest(list)
	at, classOf := map[[3]string]*Group{}, classing()
	for _, a := range list {
		if why := a.Uncounted(); why != "" {
			aside[why]++
			continue
		}
		key := [3]string{a.Agent, a.Program, classOf(a)}
		g := at[key]
		if g == nil {
			g = &Group{Agent: a.Agent, Program: a.Program, Newest: a.Program == newest[a.Agent], Class: key[2], Rehearsal: conditions.Rehearsed(a.Report.Conditions)}
			at[key], groups = g, append(groups, g)
		}
		g.Attempts = append(g.Attempts, a)
	}
	slices.SortFunc(groups, func(a, b *Group) int {
		return cmp.Or(board.CompareNames(a.Agent, b.Agent), board.Count(b.Newest)-board.Count(a.Newest), strings.Compare(a.Program, b.Program),
			board.Count(a.Rehearsal)-board.Count(b.Rehearsal), len(b.Attempts)-len(a.Attempts), strings.Compare(a.Class, b.Class))
	})
	return groups, aside
}

// Newest returns the program of each agent's newest run with a graded attempt.
func Newest(list []*Attempt) map[string]string {
	graded := slices.DeleteFunc(slices.Clone(list), func(a *Attempt) bool { return !a.Graded })
	program := map[string]string{}
	for agent, a := range newestBy(graded, func(a *Attempt) string { return a.Agent }) {
		program[agent] = a.Program
	}
	return program
}

// Tally is the sums of attempts of one class.
type Tally struct {
	Attempts, Competitions, Valid, AboveMedian, Gold, Silver, Bronze int
	// Ranked are the attempts of which medals are a share: those at competitions with a
	// leaderboard that are no rehearsals.
	Ranked int
	// Cost is what they cost; nil if that is not known of any.
	Cost *Cost
}

// TallyOf sums up attempts.
func TallyOf(list []*Attempt) (t Tally) {
	ids := map[string]bool{}
	for _, a := range list {
		r := &a.Report
		ids[r.CompetitionID] = true
		t.Valid, t.AboveMedian = t.Valid+board.Count(r.ValidSubmission), t.AboveMedian+board.Count(r.AboveMedian)
		if a.ranked() {
			t.Ranked++
			t.Gold, t.Silver, t.Bronze = t.Gold+board.Count(r.GoldMedal), t.Silver+board.Count(r.SilverMedal), t.Bronze+board.Count(r.BronzeMedal)
		}
	}
	t.Attempts, t.Competitions, t.Cost = len(list), len(ids), CostOf(list)
	return t
}

// Medals is the number of attempts with a medal.
func (t *Tally) Medals() int { return t.Gold + t.Silver + t.Bronze }

// Share is the percentage of ranked attempts that have a medal; ok is false without any.
func (t *Tally) Share() (percent float64, ok bool) {
	return 100 * float64(t.Medals()) / float64(max(t.Ranked, 1)), t.Ranked > 0
}
