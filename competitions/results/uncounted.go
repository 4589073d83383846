package results

// Uncounted counts by reason the attempts that are compared with no other: those without a
// grade, forks, and those whose end is not final.
func Uncounted(list []*Attempt) Aside {
	_, _, aside := Selection{Programs: true}.Comparable(list)
	return Aside{asideNotGraded: aside[asideNotGraded], asideFork: aside[asideFork], asideNotFinal: aside[asideNotFinal]}
}
