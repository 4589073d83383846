package engine

import (
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/plan"
)

// warnChosen emits, before anything runs, the warnings about choices that the
// machine made for steps that may run. It also names the steps that run again
// because their last result is not final.
func (r *run) warnChosen() {
	var list plan.Remarks
	for _, n := range r.pl.nodes {
		if !n.cached() {
			for _, c := range n.plan.Choices {
				list.Add(n.plan.Agent, c.Warning)
			}
			for _, text := range slices.Concat(n.plan.Missing, n.plan.Unmasked) {
				list.Add(n.plan.Agent, text)
			}
		}
		if d := n.decision; d != nil && d.ignored != "" {
			list.Add("", n.Addr.Step.String()+" "+d.ignored)
		}
	}
	r.warnOnce(list)
}

// warnOnce emits each warning once in the run.
func (r *run) warnOnce(list plan.Remarks) {
	list.Each(func(text, neutral string) {
		if _, told := r.warned.LoadOrStore(neutral, true); !told {
			r.sink.Emit(event.Warning{At: event.Now(), Message: text})
		}
	})
}

// compareChoices compares this machine's choices for a step with the lock. For
// a decided step, it marks the deviations that the machine chose. For an
// undecided step, it adds deviations, because the choices are already known.
func compareChoices(lock *lockfile.File, n *node, list []lockfile.Deviation) []lockfile.Deviation {
	s, found := lock.Find(n.Addr)
	for _, c := range n.plan.Choices {
		is := fmt.Sprintf("%s, which this machine chose (%s)", c.Value, c.Why)
		for i := range list {
			if list[i].Field == c.Arg {
				list[i].Is = is
			}
		}
		if was := s.Inputs[c.Arg]; found && n.decision == nil && was != c.Value {
			list = append(list, lockfile.Deviation{Address: n.Addr.String(), Field: c.Arg, Was: was, Is: is})
		}
	}
	return list
}
