package aggregate

import (
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
)

// task returns the form of the task that the entry's agent got, or "" if it is unknown.
func (e Entry) task() string { return taskOf(e.Report.Conditions) }

func taskOf(set []string) string {
	return strings.Join(step.ConditionValues(set, conditions.Task), " ")
}

// splitTasks separates the forms of a task. An agent that tried the same competition
// with the same seed under several forms becomes one agent for each, "NAME (TASK)". It
// returns the names that belong together, the reference's form first, so that they can
// be compared. Entries stay sorted.
func splitTasks(entries []Entry) (forms [][]string) {
	several := map[string]bool{}
	for i := 1; i < len(entries); i++ {
		a, b := entries[i-1], entries[i]
		if compareEntries(a, b) == 0 && a.task() != b.task() {
			several[b.Agent] = true
		}
	}
	names := map[string][]string{}
	for i := range entries {
		e := &entries[i]
		if agent := e.Agent; several[agent] {
			e.Agent += " (" + e.task() + ")"
			names[agent] = append(names[agent], e.Agent)
		}
	}
	slices.SortStableFunc(entries, compareEntries)
	for _, agent := range slices.Sorted(maps.Keys(names)) {
		list := slices.Compact(slices.Sorted(slices.Values(names[agent])))
		reference := agent + " (" + string(competitions.TaskReference) + ")"
		slices.SortStableFunc(list, func(a, b string) int { return board.Count(b == reference) - board.Count(a == reference) })
		forms = append(forms, list)
	}
	return forms
}

// splitBudgets separates the attempts of an agent at one competition that could use
// different resources: they are no further seeds of one result. The agent becomes one for
// each, "NAME (time 24h)". Entries stay sorted.
func splitBudgets(entries []Entry) {
	for own := range chunks(entries, func(e Entry) string { return e.Agent }) {
		several := false
		for at := range chunks(own, func(e Entry) string { return e.Report.CompetitionID }) {
			several = several || len(conditions.Differing(conditionsOf(at)...)) > 1
		}
		if several {
			apart := conditions.Apart(conditionsOf(own)...)
			for i := range own {
				own[i].Whole = own[i].Agent
				own[i].Agent += " (" + apart[i] + ")"
			}
		}
	}
	slices.SortStableFunc(entries, compareEntries)
}
