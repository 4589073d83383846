package aggregate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
)

// Board is a leaderboard, the output "board".
type Board struct {
	// GroupBy is the property by which an agent's groups are formed.
	GroupBy string `json:"group_by"`
	// Agents come by class, that of the most runs first, and within a class best first:
	// by the rule of its benchmark, or by mean rank, where that orders it; by medals, results above the median and
	// valid submissions, as percentages; then by gold and silver medals; with a single
	// competition then by the mean score; then by name.
	Agents []Agent `json:"agents"`
	// Entries are the reports, by agent, competition and seed.
	Entries []Entry `json:"entries"`
	// PadMissing means that a missing report counts as no submission.
	PadMissing bool `json:"pad_missing"`
	// Untrusted means that an attempt of some agent was not isolated; see
	// conditions.Untrusted.
	Untrusted bool `json:"untrusted"`
	// Rehearsal means that the data were those of a rehearsal; see conditions.Rehearsal.
	Rehearsal bool `json:"rehearsal,omitempty"`
	// Benchmark is the set of competitions and the rule that orders the board; nil for all
	// competitions of its reports, by medals or mean rank. Outside are the reports at other
	// competitions, which are left out.
	Benchmark   *board.Benchmark `json:"benchmark,omitempty"`
	Outside     int              `json:"outside_benchmark,omitempty"`
	Comparisons []Comparison     `json:"comparisons,omitempty"`
}

// Agent holds the results of one agent.
type Agent struct {
	Name string `json:"name"`
	// Class is the class of the attempts that count, or of all without such; see
	// conditions.Class.
	Class string `json:"class"`
	// ClassLetter names the class beside the place; "" on a board of one class.
	ClassLetter string `json:"class_letter,omitempty"`
	// Place is 1 for the best of its class, and 0 without percentages. Agents that are
	// equal in every criterion of the order share the best of their places.
	Place int  `json:"place"`
	Tied  bool `json:"tied"`
	// Rank orders agents where no competition of several has a leaderboard; nil elsewhere,
	// and for an agent alone in its class.
	Rank *Rank `json:"rank,omitempty"`
	// Ruled is the figure by the rule of the board's benchmark; nil without one, and for an
	// agent that lacks a competition.
	Ruled *board.Ruled `json:"benchmark_figure,omitempty"`
	// Overall covers all competitions of the board.
	Overall      Group    `json:"overall"`
	Groups       []Group  `json:"groups"`
	Competitions []Result `json:"competitions"`
	// Missing are the runs without a report, judging by the agent's other runs.
	// They do not count as failures of the agent.
	Missing []Gap `json:"missing,omitempty"`

	// byRule means that the rule of the benchmark alone orders the agent, by merit.
	byRule bool
	merit  float64
}

// Gap is the number of runs at a competition for which an agent has no report.
type Gap struct {
	Competition string   `json:"competition"`
	Runs        int      `json:"runs"`
	Seeds       []string `json:"seeds,omitempty"` // if the reports have seeds
}

// Group holds an agent's percentages over a group of competitions.
type Group struct {
	Name         string   `json:"name"`
	Competitions []string `json:"competitions"`
	// Seeds is the number of complete seeds behind the percentages; 0 if there is
	// none, and then there are no percentages unless missing reports are padded.
	Seeds int `json:"seeds"`
	// Percentages have the reference's names.
	Percentages board.Split `json:"percentages"`
	conditions.Under
	conditions.Repeats
}

// final returns the entries that count.
func final(entries []Entry) []Entry {
	own, _ := conditions.Counted(entries, func(e Entry) []string { return e.Report.Conditions })
	return own
}

// Result holds an agent's runs at one competition.
type Result struct {
	Competition string `json:"competition"`
	// Flags are the flags of the competition's version, such as "crowded".
	Flags []competitions.Flag `json:"flags,omitempty"`
	// MetricExternal means that a program of the competition computed scores.
	MetricExternal bool `json:"metric_external,omitempty"`
	LowerIsBetter  bool `json:"is_lower_better"`
	Runs           int  `json:"runs"`
	// Scored is the number of runs with a finite score; Score is computed over
	// those, and nil if there is none.
	Scored      int             `json:"scored"`
	Score       *board.Estimate `json:"score"`
	Best        *grading.Number `json:"best"`
	Gold        int             `json:"gold_medals"`
	Silver      int             `json:"silver_medals"`
	Bronze      int             `json:"bronze_medals"`
	AboveMedian int             `json:"above_median"`
	Valid       int             `json:"valid_submissions"`
	// Unscored are the runs without a finite score, by reason; see
	// export.Unscored.
	Unscored map[string]int `json:"unscored,omitempty"`
	// BestRank is the best place among the teams; 0 if every score is missing or NaN.
	BestRank int `json:"best_rank"`
	Teams    int `json:"teams"`
	// Unranked means that the competition has no leaderboard, so there are no medals.
	Unranked bool `json:"unranked,omitempty"`
	// Margins are the margins of the best score.
	Margins map[grading.Threshold]grading.Margin `json:"margins,omitempty"`
	// Uncertain is the number of runs whose medal depends on rounding or is based
	// on a score that is not finite.
	Uncertain int   `json:"uncertain"`
	Used      *Used `json:"used,omitempty"`
	conditions.Under
	conditions.Repeats
}

// Grouping defines how competitions are grouped and seeds arranged.
type Grouping struct {
	By         string                 // the value of group_by
	Of         func(id string) string // the group of a competition
	PadMissing bool
	Benchmark  *board.Benchmark // nil for all competitions of the entries
}

// NewBoard makes a leaderboard of sorted entries.
func NewBoard(entries []Entry, how Grouping) (*Board, error) {
	all := len(entries)
	if how.Benchmark != nil {
		entries = lists.Where(entries, func(e Entry) bool { return slices.Contains(how.Benchmark.Competitions, e.Report.CompetitionID) })
		if len(entries) == 0 {
			return nil, fmt.Errorf("no report is at a competition of benchmark %s, which are %s", how.Benchmark.Name, plain.List(how.Benchmark.Competitions))
		}
	}
	if err := checkUnique(entries); err != nil {
		return nil, err
	}
	sets := conditionsOf(entries)
	if err := conditions.CheckData(sets...); err != nil {
		return nil, err
	}
	b := &Board{GroupBy: how.By, Entries: entries, PadMissing: how.PadMissing, Untrusted: conditions.Untrusted(sets...), Rehearsal: slices.ContainsFunc(sets, conditions.Rehearsed), Benchmark: how.Benchmark, Outside: all - len(entries)}
	ids, groups := b.Competitions(), map[string][]string{}
	for _, id := range ids {
		groups[how.Of(id)] = append(groups[how.Of(id)], id)
	}
	for own := range chunks(entries, func(e Entry) string { return e.Agent }) {
		b.Agents = append(b.Agents, newAgent(own, ids, groups, how.PadMissing))
	}
	b.order()
	return b, nil
}

// order sorts the agents and gives them places.
func (b *Board) order() {
	size := map[string]int{}
	for _, a := range b.Agents {
		size[a.comparable()] += a.sum().Runs
	}
	byClass := func(x, y Agent) int {
		return cmp.Or(size[y.comparable()]-size[x.comparable()], strings.Compare(x.comparable(), y.comparable()))
	}
	slices.SortStableFunc(b.Agents, byClass)
	for _, class := range b.Classes() {
		b.rank(class)
	}
	slices.SortStableFunc(b.Agents, func(x, y Agent) int {
		return cmp.Or(byClass(x, y), compareAgents(x, y), board.CompareNames(x.Name, y.Name))
	})
	classes := b.Classes()
	for i, class := range classes {
		assignPlaces(class)
		for j := range class {
			if len(classes) > 1 {
				class[j].ClassLetter = results.Letter(i)
			}
		}
	}
}

// Classes splits the agents by class.
func (b *Board) Classes() [][]Agent { return slices.Collect(chunks(b.Agents, Agent.comparable)) }

func (a Agent) comparable() string { return conditions.Comparable(a.Class) }

// ClassText says under which conditions the attempts of agents of one class were made.
func (b *Board) ClassText(class []Agent) string {
	var sets [][]string
	for _, a := range class {
		sets = append(sets, conditionsOf(counting(b.of(a.Name)))...)
	}
	if len(sets) == 0 {
		return class[0].Class
	}
	return conditions.Class(sets...)
}

// counting are an agent's entries that count or, if none does, all.
func counting(own []Entry) []Entry {
	if counted := final(own); len(counted) > 0 {
		return counted
	}
	return own
}

// BoardOf makes a leaderboard of reports, grouped by complexity. An agent that tried one
// competition under several budgets has a line for each.
// Without a benchmark it is of all competitions.
func BoardOf(reports []grading.Graded, catalog *competitions.Catalog, benchmark *board.Benchmark) (*Board, error) {
	return BoardOfEntries(lists.Of(reports, func(g grading.Graded) Entry { return NewEntry(g, catalog) }), catalog, benchmark)
}

// BoardOfEntries is BoardOf with the entries of the reports.
func BoardOfEntries(entries []Entry, catalog *competitions.Catalog, benchmark *board.Benchmark) (*Board, error) {
	SortEntries(entries)
	splitTasks(entries)
	splitBudgets(entries)
	return NewBoard(entries, Grouping{By: byComplexity, Of: func(id string) string { return cmp.Or(string(catalog.Complexity(id)), "other") }, Benchmark: benchmark})
}

// assignPlaces numbers the sorted agents of a class. Ties share a place, and the next place counts
// all of them.
func assignPlaces(agents []Agent) {
	for i := range agents {
		if !agents[i].placed() {
			return
		}
		agents[i].Place, agents[i].Tied = i+1, false
		if i > 0 && compareAgents(agents[i-1], agents[i]) == 0 {
			agents[i].Place = agents[i-1].Place
			agents[i-1].Tied, agents[i].Tied = true, true
		}
	}
}

// placed reports whether the agent has a place.
func (a Agent) placed() bool {
	return len(a.Overall.Percentages) > 0 && (!a.byRule || a.Ruled != nil)
}

// checkUnique refuses two reports of one attempt. One that does not count, such as that of
// a fork, may stand beside the one that does.
func checkUnique(entries []Entry) error {
	counted := final(entries)
	for i := 1; i < len(counted); i++ {
		if e := counted[i]; e.Seed != "" && compareEntries(counted[i-1], e) == 0 {
			return fmt.Errorf("two reports for agent %q, competition %q and seed %q; label them apart, or choose one version of the competitions", e.Agent, e.Report.CompetitionID, e.Seed)
		}
	}
	return nil
}

// chunks splits a sorted list where the key changes.
func chunks[T any](entries []T, key func(T) string) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
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

// compareAgents puts the better agent first, and agents without percentages
// last; 0 is a tie.
func compareAgents(a, b Agent) int { return slices.Compare(b.criteria(), a.criteria()) }

// criteria returns the values by which agents are ordered, most important first, where
// more is better: the mean rank, percentages, the shares of runs, and the score at a single
// competition.
func (a Agent) criteria() []float64 {
	out := []float64{float64(board.Count(a.placed())), 0}
	if a.byRule {
		return append(out, a.merit)
	}
	if a.Rank != nil {
		out[1] = -float64(a.Rank.Mean)
	}
	for _, name := range []string{"any_medal_percentage", "above_median_percentage", "valid_submissions_percentage"} {
		out = append(out, float64(a.Overall.Percentages[name].Mean))
	}
	sum := a.sum()
	for _, n := range []int{sum.Gold + sum.Silver + sum.Bronze, sum.Gold, sum.Silver, sum.AboveMedian, sum.Valid} {
		out = append(out, float64(n)/float64(sum.Runs))
	}
	score := math.Inf(-1)
	if ids := a.Overall.Competitions; len(ids) == 1 {
		score = a.scoreAt(ids[0])
	}
	return append(out, score)
}

// sum adds up the agent's runs at all competitions.
func (a Agent) sum() (out Result) {
	out.Unranked = true
	for _, r := range a.Competitions {
		out.Runs, out.Valid, out.AboveMedian = out.Runs+r.Runs, out.Valid+r.Valid, out.AboveMedian+r.AboveMedian
		out.Gold, out.Silver, out.Bronze = out.Gold+r.Gold, out.Silver+r.Silver, out.Bronze+r.Bronze
		out.Unranked = out.Unranked && r.Unranked
	}
	return out
}

func newAgent(own []Entry, all []string, groups map[string][]string, pad bool) Agent {
	a := Agent{Name: own[0].Agent, Class: conditions.Class(conditionsOf(counting(own))...), Missing: gaps(own, all)}
	a.Overall = newGroup("all", all, own, pad)
	a.Groups = lists.OfMap(groups, func(name string, ids []string) Group { return newGroup(name, ids, own, pad) })
	for runs := range chunks(own, func(e Entry) string { return e.Report.CompetitionID }) {
		a.Competitions = append(a.Competitions, newResult(runs))
	}
	return a
}

// gaps compares the runs at each competition with all seeds of the agent or,
// without seeds, with the most runs at any competition.
func gaps(own []Entry, all []string) []Gap {
	var seeds []string
	runs, seen := map[string]int{}, map[[2]string]bool{}
	most := 0
	for _, e := range own {
		seeds = append(seeds, e.Seed)
		seen[[2]string{e.Report.CompetitionID, e.Seed}] = true
		runs[e.Report.CompetitionID]++
		most = max(most, runs[e.Report.CompetitionID])
	}
	slices.SortFunc(seeds, results.CompareSeeds)
	seeds = slices.Compact(seeds)
	var out []Gap
	for _, id := range all {
		g := Gap{Competition: id, Runs: most - runs[id]}
		if !slices.Contains(seeds, "") {
			g.Seeds = slices.DeleteFunc(slices.Clone(seeds), func(s string) bool { return seen[[2]string{id, s}] })
			g.Runs = len(g.Seeds)
		}
		if g.Runs > 0 {
			out = append(out, g)
		}
	}
	return out
}

// newGroup computes percentages over complete seeds or, with padding, over all seeds.
// If there are none, there are no percentages; with padding, they are 0.
func newGroup(name string, ids []string, own []Entry, pad bool) Group {
	g := Group{Name: name, Competitions: slices.Sorted(slices.Values(ids))}
	own = slices.DeleteFunc(slices.Clone(own), func(e Entry) bool { return !slices.Contains(ids, e.Report.CompetitionID) })
	sets := conditionsOf(own)
	g.Under, g.Repeats = conditions.UnderOf(sets...), conditions.RepeatsOf(sets...)
	seeds, err := arrange(own, g.Competitions, pad)
	switch {
	case err == nil:
		g.Seeds, g.Percentages = len(seeds), board.Aggregate(seeds)
	case pad:
		zero := make([]board.Flags, len(g.Competitions))
		g.Percentages = board.Aggregate([][]board.Flags{zero})
	}
	return g
}

// arrange returns the flags of the entries that count, by seed.
func arrange(entries []Entry, ids []string, pad bool) ([][]board.Flags, error) {
	flags := lists.Of(final(entries), func(e Entry) board.Flags { return board.FlagsOf(e.Report) })
	return board.Seeds{PadMissing: pad}.Arrange(flags, ids)
}

// Measures returns the figures of an agent in a group with their intervals. They are not
// stored, since they follow from the entries; nil if there is no complete seed.
func (b *Board) Measures(agent string, g Group) map[string]board.Measure {
	seeds, err := arrange(b.of(agent), g.Competitions, b.PadMissing)
	if err != nil {
		return nil
	}
	return board.Measures(seeds)
}

func newResult(runs []Entry) Result {
	first := runs[0].Report
	r := Result{Competition: first.CompetitionID, Flags: first.Flagged, MetricExternal: first.MetricExternal, LowerIsBetter: first.LowerIsBetter, Runs: len(runs), Teams: first.Teams, Unranked: first.Unranked()}
	sets := conditionsOf(runs)
	r.Under, r.Repeats = conditions.UnderOf(sets...), conditions.RepeatsOf(sets...)
	var scores []float64
	for _, e := range final(runs) {
		rep, flags := e.Report, board.FlagsOf(e.Report)
		r.Uncertain += board.Count(e.uncertain())
		r.Gold += board.Count(flags.GoldMedal)
		r.Silver += board.Count(flags.SilverMedal)
		r.Bronze += board.Count(flags.BronzeMedal)
		r.AboveMedian += board.Count(flags.AboveMedian)
		r.Valid += board.Count(flags.ValidSubmission)
		if rep.Rank != nil && rep.Score != nil && !math.IsNaN(float64(*rep.Score)) && (r.BestRank == 0 || *rep.Rank < r.BestRank) {
			r.BestRank = *rep.Rank
		}
		if s := rep.ExactScore; s != nil && s.Finite() {
			scores = append(scores, float64(*s))
			if len(scores) == 1 || *s != *r.Best && (*s < *r.Best) == r.LowerIsBetter {
				r.Best, r.Margins = s, e.Margins
			}
		}
	}
	r.Used, r.Unscored = newUsed(runs), unscored(runs)
	if r.Scored = len(scores); r.Scored == 0 {
		return r
	}
	r.Score = new(board.NewEstimate(scores))
	return r
}

// uncertain reports whether a medal depends on rounding or is based on a score
// that is not finite.
func (e Entry) uncertain() bool {
	return e.MedalOnNonFinite || slices.ContainsFunc(e.RoundingDecides, func(t grading.Threshold) bool { return t != grading.Median })
}

// SameFigures reports whether two boards hold the same reports and figures. Classes, the
// places in them and the words for ends may differ: other versions of mleflow have others.
func SameFigures(a, b *Board) (bool, error) {
	x, errA := json.Marshal(a.figures())
	y, errB := json.Marshal(b.figures())
	return bytes.Equal(x, y), errors.Join(errA, errB)
}

// figures returns the board without what SameFigures ignores, agents by name.
func (b Board) figures() Board {
	b.Agents = slices.Clone(b.Agents)
	for i := range b.Agents {
		a := &b.Agents[i]
		a.Class, a.ClassLetter, a.Place, a.Tied, a.Rank = "", "", 0, false, nil
		a.Competitions = slices.Clone(a.Competitions)
		for j, r := range a.Competitions {
			n := 0
			for _, count := range r.Unscored {
				n += count
			}
			a.Competitions[j].Unscored = map[string]int{"": n}
		}
	}
	slices.SortFunc(b.Agents, func(x, y Agent) int { return board.CompareNames(x.Name, y.Name) })
	return b
}
