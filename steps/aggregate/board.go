package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
)

// Unlabelled is the agent of reports without the label "agent".
const Unlabelled = "(unlabelled)"

// Board is a leaderboard, the output "board".
type Board struct {
	// GroupBy is what the groups of an agent are.
	GroupBy string `json:"group_by"`
	// Agents come best first: by medals, then by results above the median,
	// then by valid submissions, then by name.
	Agents []Agent `json:"agents"`
	// Entries are the reports, by agent, competition and seed.
	Entries []Entry `json:"entries"`
}

// Entry is one report.
type Entry struct {
	Agent  string            `json:"agent"`
	Seed   string            `json:"seed"`
	Labels map[string]string `json:"labels,omitempty"`
	Report grading.Report    `json:"report"`
}

// Agent is what one agent reached.
type Agent struct {
	Name string `json:"name"`
	// Overall is over all competitions of the board.
	Overall      Group    `json:"overall"`
	Groups       []Group  `json:"groups"`
	Competitions []Result `json:"competitions"`
}

// Group is an agent's percentages over a group of competitions.
type Group struct {
	Name         string   `json:"name"`
	Competitions []string `json:"competitions"`
	Seeds        int      `json:"seeds"`
	// Percentages are by the reference's names.
	Percentages grading.Split `json:"percentages"`
}

// Result is an agent's runs at one competition.
type Result struct {
	Competition string `json:"competition"`
	// Flags are those of the competition's version, such as "crowded".
	Flags         []competitions.Flag `json:"flags,omitempty"`
	LowerIsBetter bool                `json:"is_lower_better"`
	Runs          int                 `json:"runs"`
	// Scored is the number of runs with a finite score; Score is over those,
	// and nil when there is none.
	Scored      int               `json:"scored"`
	Score       *grading.Estimate `json:"score"`
	Best        *grading.Number   `json:"best"`
	Gold        int               `json:"gold_medals"`
	Silver      int               `json:"silver_medals"`
	Bronze      int               `json:"bronze_medals"`
	AboveMedian int               `json:"above_median"`
	Valid       int               `json:"valid_submissions"`
	// BestRank is the best place among the teams; 0 without a score.
	BestRank int `json:"best_rank"`
	Teams    int `json:"teams"`
}

// compareEntries orders by agent, competition and seed; seeds that are numbers
// as numbers.
func compareEntries(a, b Entry) int {
	return cmp.Or(
		strings.Compare(a.Agent, b.Agent),
		strings.Compare(a.Report.CompetitionID, b.Report.CompetitionID),
		CompareSeeds(a.Seed, b.Seed),
	)
}

// CompareSeeds orders seeds: numbers by value, then other texts.
func CompareSeeds(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	switch {
	case errX == nil && errY == nil:
		return cmp.Compare(x, y)
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return strings.Compare(a, b)
}

// NewBoard makes a leaderboard of sorted entries. group names the group of a
// competition.
func NewBoard(entries []Entry, groupBy string, group func(id string) string) (*Board, error) {
	if err := checkUnique(entries); err != nil {
		return nil, err
	}
	groups := map[string][]string{}
	var all []string
	for _, e := range entries {
		id := e.Report.CompetitionID
		if !slices.Contains(all, id) {
			all = append(all, id)
			groups[group(id)] = append(groups[group(id)], id)
		}
	}
	b := &Board{GroupBy: groupBy, Entries: entries}
	for own := range chunks(entries, func(e Entry) string { return e.Agent }) {
		agent, err := newAgent(own, all, groups)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", own[0].Agent, err)
		}
		b.Agents = append(b.Agents, agent)
	}
	slices.SortStableFunc(b.Agents, compareAgents)
	return b, nil
}

func checkUnique(entries []Entry) error {
	for i := 1; i < len(entries); i++ {
		if e := entries[i]; e.Seed != "" && compareEntries(entries[i-1], e) == 0 {
			return fmt.Errorf("two reports for agent %q, competition %q and seed %q; label them apart", e.Agent, e.Report.CompetitionID, e.Seed)
		}
	}
	return nil
}

// chunks cuts sorted entries where the key changes.
func chunks(entries []Entry, key func(Entry) string) func(func([]Entry) bool) {
	return func(yield func([]Entry) bool) {
		for start := 0; start < len(entries); {
			end := start + 1
			for end < len(entries) && key(entries[end]) == key(entries[start]) {
				end++
			}
			if !yield(entries[start:end]) {
				return
			}
			start = end
		}
	}
}

// compareAgents puts the better agent first.
func compareAgents(a, b Agent) int {
	for _, name := range []string{"any_medal_percentage", "above_median_percentage", "valid_submissions_percentage"} {
		if c := cmp.Compare(b.Overall.Percentages[name].Mean, a.Overall.Percentages[name].Mean); c != 0 {
			return c
		}
	}
	return strings.Compare(a.Name, b.Name)
}

func newAgent(own []Entry, all []string, groups map[string][]string) (Agent, error) {
	a := Agent{Name: own[0].Agent}
	flags := make([]grading.Flags, len(own))
	for i, e := range own {
		flags[i] = e.Report.Flags()
	}
	var err error
	if a.Overall, err = newGroup("all", all, flags); err != nil {
		return a, err
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g, err := newGroup(name, groups[name], flags)
		if err != nil {
			return a, err
		}
		a.Groups = append(a.Groups, g)
	}
	for runs := range chunks(own, func(e Entry) string { return e.Report.CompetitionID }) {
		a.Competitions = append(a.Competitions, newResult(runs))
	}
	return a, nil
}

// newGroup computes percentages. Where an agent lacks a report for a seed it
// counts as no submission; a group that it has no report of at all is zero.
func newGroup(name string, ids []string, flags []grading.Flags) (Group, error) {
	g := Group{Name: name, Competitions: slices.Sorted(slices.Values(ids))}
	has := slices.ContainsFunc(flags, func(f grading.Flags) bool { return slices.Contains(ids, f.CompetitionID) })
	if !has {
		flags = []grading.Flags{{CompetitionID: ids[0]}}
	}
	seeds, err := grading.Seeds{PadMissing: true}.Arrange(flags, g.Competitions)
	if err != nil {
		return g, err
	}
	g.Percentages = grading.Aggregate(seeds)
	if has {
		g.Seeds = len(seeds)
	}
	return g, nil
}

func newResult(runs []Entry) Result {
	first := runs[0].Report
	r := Result{Competition: first.CompetitionID, Flags: first.Flagged, LowerIsBetter: first.LowerIsBetter, Runs: len(runs), Teams: first.Teams}
	var scores []float64
	for _, e := range runs {
		rep := e.Report
		r.Gold += count(rep.GoldMedal)
		r.Silver += count(rep.SilverMedal)
		r.Bronze += count(rep.BronzeMedal)
		r.AboveMedian += count(rep.AboveMedian)
		r.Valid += count(rep.ValidSubmission)
		if rep.Rank != nil && (r.BestRank == 0 || *rep.Rank < r.BestRank) {
			r.BestRank = *rep.Rank
		}
		if s := rep.ExactScore; s != nil && !math.IsNaN(float64(*s)) && !math.IsInf(float64(*s), 0) {
			scores = append(scores, float64(*s))
		}
	}
	if r.Scored = len(scores); r.Scored == 0 {
		return r
	}
	estimate := grading.NewEstimate(scores)
	best := grading.Number(slices.Max(scores))
	if r.LowerIsBetter {
		best = grading.Number(slices.Min(scores))
	}
	r.Score, r.Best = &estimate, &best
	return r
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
