package ui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/parallel"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// runIndex remembers the entries of ended runs, of which only names, tags and notes
// change.
type runIndex struct {
	history *history.Store
	// ended are the entries by run; reasons are those for which ended runs did not finish.
	ended, reasons sync.Map
}

// reason says why a run did not finish: the first step that failed, or how far it came. It is
// "" of one that finished or goes on.
func (x *runIndex) reason(e history.Entry) (why string) {
	if e.State == history.Finished || e.State == history.Running {
		return ""
	}
	if known, ok := x.reasons.Load(e.ID); ok {
		return known.(string)
	}
	switch f := e.Finish; {
	case e.State == history.Failed:
		why = x.failure(e.ID)
	case f != nil:
		done := f.Ran + f.Cached + f.Failed
		why = "stopped after " + fraction(done, done+f.Skipped+f.Cancelled+f.Unneeded) + " steps"
	case e.State == history.Interrupted:
		why = "killed, or its machine stopped"
	}
	x.reasons.Store(e.ID, why)
	return why
}

// failure is the first step of a run that failed, with its error.
func (x *runIndex) failure(id string) string {
	past, err := x.history.Open(id)
	if err != nil {
		return ""
	}
	for e, err := range past.Events() {
		if end, ok := e.(event.StepFinished); err == nil && ok && end.Status == event.Failed {
			return end.Address + ": " + end.Error
		}
	}
	return ""
}

// entries returns runs as they are in a list, in the order of the ids.
func (x *runIndex) entries(ids []string) []history.Entry {
	out := make([]history.Entry, len(ids))
	parallel.Do(len(ids), 4, func(i int) { out[i] = x.entry(ids[i]) }) // what cannot be read is an entry, too
	return out
}

// entry returns a run as it is in a list. Of one that cannot be read only the id
// is known.
func (x *runIndex) entry(id string) history.Entry {
	if known, ok := x.ended.Load(id); ok {
		e := known.(history.Entry)
		e.About = x.history.About(id)
		return e
	}
	past, err := x.history.Open(id)
	if err != nil {
		return history.Entry{Info: history.Info{ID: id}, State: history.Unreadable}
	}
	e := past.Entry()
	e.Environment = nil // a page of one run reads it again
	if e.State != history.Running {
		x.ended.Store(id, e)
	}
	return e
}

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
	trouble := map[string]int{}
	var isolation conditions.Tally
	var begun []*results.Attempt
	for _, a := range list {
		text, mood := a.Ended()
		if mood == "" && a.Made.Outcome == "" {
			continue
		}
		begun = append(begun, a)
		isolation.Add(conditions.AttemptKind, a.Report.Conditions)
		t.Ended += board.Count(a.Made.Outcome != "")
		t.Finished += board.Count(a.Made.Outcome == outcome.Finished)
		t.Scored += board.Count(mood == results.Good || mood == results.Fair)
		if mood == results.Bad || mood == results.Fair {
			trouble[strings.TrimPrefix(text, "scored, ")]++
		}
	}
	t.Agents, t.Competitions = view.Names(begun, agentOf), view.Names(begun, (*results.Attempt).Competition)
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
	t.Trouble = countsText(trouble)
	return t
}

// countsText writes counts, the largest first.
func countsText(counts map[string]int) string {
	kinds := view.SortedKeys(counts)
	slices.SortStableFunc(kinds, func(a, b string) int { return counts[b] - counts[a] })
	for i, what := range kinds {
		kinds[i] = fmt.Sprintf("%s %s", view.Count(int64(counts[what])), what)
	}
	return strings.Join(kinds, ", ")
}

func agentOf(a *results.Attempt) string { return a.Agent }
