package ui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
)

// runTally is the attempts of a run as the list of runs shows them.
type runTally struct {
	// Ended are the attempts whose agents ended, Finished those of them that finished, and
	// Scored those with a score.
	Ended, Finished, Scored int
	// Medals counts them, "1 of 2", and Won is their number; of a rehearsal it says so.
	Medals string
	Won    int
	// Best is the largest share of attempts of an agent in one class that have a medal, in
	// percent, and Cost that of all models in US dollars; NaN if there is none.
	Best, Cost float64
	// Trouble counts the attempts that did not end well.
	Trouble, Isolation string
	// Agents and Competitions are in natural order.
	Agents, Competitions []string
}

// tallyOf sums up the attempts of a run.
func tallyOf(list []*results.Attempt) runTally {
	t := runTally{Best: math.NaN(), Cost: math.NaN()}
	agents, competitions, trouble := map[string]bool{}, map[string]bool{}, map[string]int{}
	var isolation conditions.Tally
	for _, a := range list {
		text, mood := a.Ended()
		if mood == "" && a.Made.Outcome == "" {
			continue
		}
		agents[a.Agent], competitions[a.Competition()] = true, true
		isolation.Add(conditions.AttemptKind, a.Report.Conditions)
		if a.Made.Outcome != "" {
			t.Ended++
		}
		if a.Made.Outcome == outcome.Finished {
			t.Finished++
		}
		if mood == results.Good || mood == results.Fair {
			t.Scored++
		}
		if mood == results.Bad || mood == results.Fair {
			trouble[strings.TrimPrefix(text, "scored, ")]++
		}
	}
	t.Agents, t.Competitions = sortedKeys(agents), sortedKeys(competitions)
	if isolation.Any() {
		t.Isolation = isolation.Shown()
	}
	sum := results.TallyOf(list)
	if sum.Cost != nil {
		t.Cost = sum.Cost.USD
	}
	groups, _ := results.Groups(list)
	for _, g := range groups {
		if g.Rehearsal {
			t.Medals = "rehearsal"
			continue
		}
		one := results.TallyOf(g.Attempts)
		if share, ok := one.Share(); ok && !(share <= t.Best) {
			t.Best = share
		}
	}
	if t.Won = sum.Medals(); sum.Ranked > 0 {
		t.Medals = fraction(t.Won, sum.Ranked)
	}
	t.Trouble = counted(trouble)
	return t
}

// counted writes counts, the largest first.
func counted(counts map[string]int) string {
	kinds := sortedKeys(counts)
	slices.SortStableFunc(kinds, func(a, b string) int { return counts[b] - counts[a] })
	for i, what := range kinds {
		kinds[i] = fmt.Sprintf("%s %s", view.Count(int64(counts[what])), what)
	}
	return strings.Join(kinds, ", ")
}
