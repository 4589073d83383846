package results

import "slices"

// Listed returns the attempts of a leaderboard, on which several classes stand apart: each
// once, graded, of real data and of versions that are not masked if there are such, and of
// the programs that the newest run has of an agent in the class. Others are counted by
// reason, those without a grade excepted. Results that are not final and forks are listed,
// since a board says of each agent how many do not count.
func Listed(list []*Attempt) (own []*Attempt, aside Aside) {
	aside = Aside{}
	own = slices.DeleteFunc(Distinct(list), func(a *Attempt) bool { return !a.Graded })
	if slices.ContainsFunc(own, func(a *Attempt) bool { return aparts(a) == asideConditions }) {
		own = slices.DeleteFunc(own, func(a *Attempt) bool {
			why := aparts(a)
			if why != asideConditions {
				aside[why]++
			}
			return why != asideConditions
		})
	}
	newest, programs := map[[2]string]string{}, map[[3]string]bool{}
	for _, a := range own {
		of := [2]string{a.Agent, a.Class()}
		newest[of] = max(newest[of], a.RunID)
	}
	for _, a := range own {
		if of := [2]string{a.Agent, a.Class()}; a.RunID == newest[of] {
			programs[[3]string{a.Agent, a.Class(), a.Program}] = true
		}
	}
	own = slices.DeleteFunc(own, func(a *Attempt) bool {
		old := !programs[[3]string{a.Agent, a.Class(), a.Program}]
		if old {
			aside[asideProgram]++
		}
		return old
	})
	return own, aside
}
