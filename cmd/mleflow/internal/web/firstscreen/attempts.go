package firstscreen

import (
	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
)

// Source provides the data of a first screen.
type Source struct {
	attempts.Journal
	Summary *history.Summary
	Store   cache.Store
	// Link returns the address of a step's page; nil in a file.
	Link func(address string) string
	// Tail returns the last lines of a step's log in a run; nil for none.
	Tail func(run, address string, lines int) []string
}

// State is how an attempt stands, the best first.
type State string

// The states of attempts.
const (
	Gold    State = "gold"
	Silver  State = "silver"
	Bronze  State = "bronze"
	Median  State = "median"
	Miss    State = "miss"
	Scored  State = "scored" // where there is nobody to compare with, or no medal counts
	Invalid State = "invalid"
	Failed  State = "failed"
	Running State = "running"
	Waiting State = "waiting"
	Stopped State = "stopped" // interrupted under way
	NotRun  State = "notrun"
)

// states are the states in order, with their signs and their names.
var states = []struct {
	State
	Sign, Name string
}{
	{Gold, "G", "gold"}, {Silver, "S", "silver"}, {Bronze, "B", "bronze"}, {Median, "▲", "above the median"}, {Miss, "–", "no medal"}, {Scored, "✓", "scored"},
	{Invalid, "!", "no valid submission"}, {Failed, "✕", "failed"}, {Running, "…", "running"}, {Waiting, "", "waiting"}, {Stopped, "◐", string(results.Interrupted)}, {NotRun, "○", string(results.NotRun)},
}

// Sign is the sign of the state in a matrix.
func (s State) Sign() string { return states[s.index()].Sign }

// Name is the state for people.
func (s State) Name() string { return states[s.index()].Name }

func (s State) index() int {
	for i := range states {
		if states[i].State == s {
			return i
		}
	}
	return len(states) - 1
}

// Bad reports whether the attempt gave no score.
func (s State) Bad() bool { return s == Invalid || s == Failed }

// StateOf is how an attempt stands.
func StateOf(a *results.Attempt) State {
	switch a.Phase {
	case results.Waiting:
		return Waiting
	case results.Running:
		return Running
	case results.NotRun:
		return NotRun
	case results.Interrupted:
		return Stopped
	case results.Failed:
		return Failed
	}
	switch _, mood := a.Ended(); {
	case mood == results.Good || mood == results.Fair:
		return medal(a)
	case a.Made.Outcome != "" && a.Made.Outcome != outcome.Finished:
		return Failed
	case a.Graded:
		return Invalid
	}
	return Scored
}

// medal is the state of an attempt with a score.
func medal(a *results.Attempt) State {
	r := &a.Report
	switch best := results.Medal(*r); {
	case a.WithoutMedals() != "":
		return Scored
	case best != "":
		return State(best)
	case r.AboveMedian:
		return Median
	case r.Unranked():
		return Scored
	}
	return Miss
}
