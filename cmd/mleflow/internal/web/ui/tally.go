package ui

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// runTally sums up the attempts and graded submissions of a run.
type runTally struct {
	Attempts, Finished, Graded, Medals int
	// Good are the attempts with a score. Trouble counts those that ended otherwise.
	Good    int
	Trouble string
	// Isolation describes the isolation of the attempts.
	Isolation string
	Untrusted bool
	// Agents and Competitions are in natural order. Best is the largest share of graded
	// attempts with a medal that an agent has, in percent, and Cost that of all models in
	// US dollars; NaN if there is none.
	Agents, Competitions []string
	Best, Cost           float64
	// Lone are the attempts that ended without a grade, Solved the actions of the others.
	Lone   []*result
	Solved []string
	// Known are the attempts, for their forks.
	Known []relative
}

// tallying is a tally under way.
type tallying struct {
	runTally
	isolation conditions.Tally
	// names are the attempts by key.
	names map[string]identity
	// won and tried count medals and graded attempts by agent, trouble the ends.
	won, tried, trouble map[string]int
	graded              func(event.StepFinished) *result
	crashed             map[string]bool // by key
	lone                map[string]*result
	info                *ledger.Info
}

// tallyOf sums up the attempts and graded submissions of a run. The result of the latter
// is asked for; it may be nil.
func tallyOf(past *ledger.Past, graded func(event.StepFinished) *result) runTally {
	t := tallying{runTally: runTally{Best: math.NaN(), Cost: math.NaN()}, names: map[string]identity{},
		won: map[string]int{}, tried: map[string]int{}, trouble: map[string]int{}, crashed: map[string]bool{}, graded: graded, lone: map[string]*result{}, info: &past.Info}
	for e, err := range past.Finished(conditions.AttemptKind, conditions.GradeKind) {
		switch {
		case err != nil:
			return t.sum()
		case e.Status == event.Failed:
			t.trouble["failed"]++
			t.left(e, "")
		case e.Status != event.Ran && e.Status != event.Cached:
		case e.Kind == conditions.AttemptKind:
			t.attempt(e)
		default:
			t.grade(e)
		}
	}
	return t.sum()
}

func (t *tallying) attempt(e event.StepFinished) {
	t.Known = append(t.Known, relativeOf(t.info.ID, e))
	t.isolation.Add(e.Kind, e.Conditions)
	t.Attempts++
	var end string
	_ = decode(e.Outputs["outcome"], &end) // without it, it did not finish
	if end == string(outcome.Finished) {
		t.Finished++
	} else {
		t.trouble[strings.ReplaceAll(end, "_", " ")]++
		t.crashed[addr.KeyOf(e.Address)] = true
	}
	t.left(e, end)
	t.names[addr.KeyOf(e.Address)] = identified(addr.KeyOf(e.Address))
	var stats agentrun.Stats
	if !decode(e.Outputs["stats"], &stats) {
		return
	}
	if use := results.Measured(stats.Models); use != nil && use.CostUSD != nil {
		if math.IsNaN(t.Cost) {
			t.Cost = 0
		}
		t.Cost += *use.CostUSD
	}
}

// left takes in an attempt that nobody has graded so far, or that a grader failed at.
func (t *tallying) left(e event.StepFinished, outcome string) {
	key := addr.KeyOf(e.Address)
	if e.Kind == conditions.GradeKind {
		if r := t.lone[key]; r != nil {
			r.Outcome, r.Reason = notGraded, e.Error
		}
		return
	}
	who := identified(key)
	r := &result{Agent: who.Agent, Seed: who.Seed, Run: t.info.ID, Time: t.info.Started, Address: e.Address, Runs: 1, status: e.Status, ended: strings.ReplaceAll(outcome, "_", " "), action: e.Action}
	r.CompetitionID, r.Conditions, r.Reason = who.Competition, e.Conditions, e.Error
	t.lone[key] = r
}

func (t *tallying) grade(e event.StepFinished) {
	t.Graded++
	if r := t.lone[addr.KeyOf(e.Address)]; r != nil {
		t.Solved = append(t.Solved, r.action)
		delete(t.lone, addr.KeyOf(e.Address))
	}
	who := identified(addr.KeyOf(e.Address))
	if r := t.graded(e); r != nil {
		who = r.identity()
	}
	t.names[addr.KeyOf(e.Address)] = who
	t.tried[who.Agent]++
	if m := e.Outputs["medal"]; m != "" && m != `"none"` {
		t.Medals++
		t.won[who.Agent]++
	}
	var score *float64
	var end string
	_ = decode(e.Outputs["outcome"], &end)
	switch {
	case decode(e.Outputs["score"], &score) && score != nil:
		t.Good++
	case t.crashed[addr.KeyOf(e.Address)]: // that says more
	case end == string(outcome.Missing):
		t.trouble["without a submission"]++
	default:
		t.trouble["invalid"]++
	}
}

// sum is the tally of what was taken in.
func (t *tallying) sum() runTally {
	if t.isolation.Any() {
		t.Isolation, t.Untrusted = t.isolation.Shown(), t.isolation.Untrusted()
	}
	agents, competitions := map[string]bool{}, map[string]bool{}
	for _, who := range t.names {
		agents[who.Agent], competitions[who.Competition] = true, true
	}
	delete(competitions, "")
	t.Agents, t.Competitions = sortedKeys(agents), sortedKeys(competitions)
	for agent, n := range t.tried {
		if share := 100 * float64(t.won[agent]) / float64(n); math.IsNaN(t.Best) || share > t.Best {
			t.Best = share
		}
	}
	t.Lone = slices.Collect(maps.Values(t.lone))
	var parts []string
	kinds := sortedKeys(t.trouble)
	slices.SortStableFunc(kinds, func(a, b string) int { return t.trouble[b] - t.trouble[a] })
	for _, what := range kinds {
		parts = append(parts, fmt.Sprintf("%s %s", view.Count(int64(t.trouble[what])), what))
	}
	t.Trouble = strings.Join(parts, ", ")
	return t.runTally
}

// tally returns the counts of a run; those of one that the index has not reached
// are read now.
func (x *resultIndex) tally(id string) runTally {
	x.mu.Lock()
	t, read := x.tallies[id]
	done := x.done[id]
	x.mu.Unlock()
	if done {
		return t
	}
	past, err := x.src.Ledger.Open(id)
	if err != nil {
		if !read {
			t.Best, t.Cost = math.NaN(), math.NaN()
		}
		return t
	}
	ended := !past.Running()
	t = tallyOf(past, func(e event.StepFinished) *result { return x.graded(e.Action) })
	if ended {
		x.mu.Lock()
		x.tallies[id] = t
		x.mu.Unlock()
	}
	return t
}
