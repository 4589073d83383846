package aggregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
)

// unscored counts the runs without a finite score by reason; see
// results.Attempt.NoScore.
func unscored(runs []Entry) map[string]int {
	counts := map[string]int{}
	for _, e := range runs {
		if why := e.Known().NoScore(); why != "" {
			counts[why]++
		}
	}
	return counts
}

// Explain tells the board how agents ended, where its step was not given their attempts: a
// missing submission has a cause.
func (b *Board) Explain(list []*results.Attempt) {
	type of struct{ agent, competition, seed string }
	ends, entries := map[of]outcome.End{}, map[string][]Entry{}
	for _, a := range list {
		ends[of{a.Agent, a.Competition(), a.Seed}] = a.Made.Outcome
	}
	for i := range b.Entries {
		e := &b.Entries[i]
		if end := ends[of{e.Agent, e.Report.CompetitionID, e.Seed}]; e.Attempt == nil && end != "" {
			e.Attempt = &results.Made{Outcome: end}
		}
		entries[e.Agent+"\x00"+e.Report.CompetitionID] = append(entries[e.Agent+"\x00"+e.Report.CompetitionID], *e)
	}
	for _, a := range b.Agents {
		for j, r := range a.Competitions {
			a.Competitions[j].Unscored = unscored(entries[a.Name+"\x00"+r.Competition])
		}
	}
}

// unscoredText returns text such as "2 no submission, 1 NaN", or "-" if every run has a
// score.
func unscoredText(counts map[string]int) string {
	if len(counts) == 0 {
		return "-"
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[why], why))
	}
	return strings.Join(parts, ", ")
}

// unsubmitted returns a note for each agent with runs that never submitted.
func (b *Board) unsubmitted() (notes []string) {
	for own := range chunks(final(b.Entries), func(e Entry) string { return e.Agent }) {
		without := slices.DeleteFunc(slices.Clone(own), func(e Entry) bool { return e.Report.SubmissionExists })
		if len(without) == 0 {
			continue
		}
		notes = append(notes, fmt.Sprintf("%s: %d of %d runs never submitted (%s). In percentages and comparisons they count as runs without a medal; means and best scores are computed from the other runs.",
			own[0].Agent, len(without), len(own), unscoredText(unscored(without))))
	}
	return notes
}
