package history

import (
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/plan"
)

// Rule is what a Declared link says of an evaluation.
type Rule struct {
	ID     string `json:"id"`
	Budget int    `json:"budget"`
}

// Evaluated compares the attempts of an evaluation with the links up to the
// declaration of a run, and with the run's own. An empty run is one that comes
// next. Each attempt has an Action and Subjects.
//
// An attempt belongs to an evaluation if every run that began it had declared
// the evaluation's rule. So neither a rule that is declared after an attempt nor
// one of several that were declared before is taken for the one that chose it.
func Evaluated(links []Link, run, rule string, attempts []Link) (d plan.Declared) {
	type trace struct{ begun, outside, repeated bool }
	traces, subjects := map[digest.ActionID]*trace{}, map[string]bool{}
	for _, a := range attempts {
		traces[a.Action] = &trace{}
		subjects[a.subject()] = true
	}
	rules, unused, own := map[string]bool{}, map[digest.ActionID]bool{}, false
	for _, l := range links {
		own = own || l.Type == Declared && l.Run == run
		switch t := traces[l.Action]; {
		case own && l.Run != run:
		case l.Type == Declared && l.Evaluation != nil && l.Evaluation.ID == rule:
			if rules[l.Run] = true; d.FirstBudget == 0 {
				d.FirstBudget = l.Evaluation.Budget
			}
		case l.Type != Began:
		case t != nil:
			t.begun, t.outside, t.repeated = true, t.outside || !rules[l.Run], t.repeated || l.Why != ""
		case !own && rules[l.Run] && subjects[l.subject()]:
			unused[l.Action] = true
		}
	}
	for _, a := range attempts {
		switch t := traces[a.Action]; {
		case !t.begun:
			d.Unknown++
		case t.outside:
			d.Outside++
		case t.repeated:
			d.Repeated++
		}
	}
	d.Unused = len(unused)
	return d
}
