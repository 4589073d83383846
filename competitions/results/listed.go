package results

import "slices"

// Listed returns the attempts of a leaderboard, on which several classes stand apart: each
// once, graded, of real data and of versions that are not masked if there are such, and of
// the program of the agent's newest run in the class. Others are counted by
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
	n := len(own)
	if own = slices.DeleteFunc(own, outdated(own, classing())); n > len(own) {
		aside[asideProgram] = n - len(own)
	}
	return own, aside
}
