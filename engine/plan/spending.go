package plan

import (
	"fmt"

	"github.com/mleflow/mleflow/engine/step"
)

// Spending is what the steps of a plan may spend on one model together. Its
// limits are those of one step.
type Spending struct {
	step.Spending
	// Steps is how many use the model.
	Steps int
}

// Most is the greatest cost of all, in billionths of a US dollar; ok is false
// without a limit.
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

// Spending is what the steps that are not cached may spend, by model and limits,
// in the order of the steps.
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
