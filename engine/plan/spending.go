package plan

import (
	"fmt"

	"github.com/mleflow/mleflow/engine/step"
)

// Spending is the possible spending of a plan's steps on one model. Its limits
// are per step.
type Spending struct {
	step.Spending
	// Steps is the number of steps that use the model.
	Steps int
}

// Most returns the maximum total cost, in billionths of a US dollar. ok is
// false if there is no limit.
func (s Spending) Most() (cost int64, ok bool) {
	all := s.Cost * int64(s.Steps)
	switch {
	case s.Replayed:
		return 0, true
	case s.Cost > 0 && s.RunCost > 0:
		return min(all, s.RunCost), true
	case s.Cost > 0:
		return all, true
	}
	return s.RunCost, s.RunCost > 0
}

// Spending returns the possible spending of the uncached steps, grouped by
// model and limits, in the order of the steps.
func (p *Plan) Spending() []Spending {
	var all []Spending
	index := map[string]int{}
	for i := range p.Steps {
		if p.Steps[i].Action == Cached {
			continue
		}
		for _, one := range p.Steps[i].Spending {
			key := fmt.Sprintf("%#v", one)
			at, found := index[key]
			if !found {
				at = len(all)
				index[key], all = at, append(all, Spending{Spending: one})
			}
			all[at].Steps++
		}
	}
	return all
}
