package board

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// The rules by which agents are ranked over a set of competitions. Each is a mean over the
// competitions, which weigh the same, of a value between 0 and 1.
const (
	// Medals is the share of runs with a medal.
	Medals = "medals"
	// MeanPercentile is the share of the human teams that a score equals or beats.
	MeanPercentile = "mean_percentile"
	// NormalisedScore is where a score lies between two anchors, 0 to 1.
	NormalisedScore = "normalised_score"
	// MeanRank is the expected rank of a run among a run of each other agent.
	MeanRank = "mean_rank"
	// Elo is the rating that follows from the same comparisons; see elo.
	Elo = "elo"
)

// Rules lists the rules.
func Rules() []string { return []string{Medals, MeanPercentile, NormalisedScore, MeanRank, Elo} }

// Benchmark is a set of competitions with the rule by which agents are ranked over it. The
// anchors of a normalised score are those of every competition.
type Benchmark struct{ step.Benchmark }

// NewBenchmark checks a benchmark and completes its anchors. The error is about an argument.
func NewBenchmark(b step.Benchmark, catalog *competitions.Catalog) (out Benchmark, arg string, err error) {
	out = Benchmark{b}
	sorted := slices.Sorted(slices.Values(b.Competitions))
	for i, id := range sorted {
		if _, err := catalog.Get(id); err != nil {
			return out, "competitions", err
		}
		if i > 0 && id == sorted[i-1] {
			return out, "competitions", fmt.Errorf("%s is in the list twice; each competition counts once", id)
		}
	}
	switch {
	case len(sorted) == 0:
		return out, "competitions", fmt.Errorf("a benchmark has at least one competition")
	case !slices.Contains(Rules(), b.Aggregate):
		return out, "aggregate", fmt.Errorf("there is no rule %q; the rules are %s.%s", b.Aggregate, plain.List(Rules()), diag.DidYouMean(b.Aggregate, Rules()))
	}
	for arg, given := range map[string]map[string]float64{"sample": b.Sample, "best": b.Best} {
		for _, id := range slices.Sorted(maps.Keys(given)) {
			if b.Aggregate != NormalisedScore {
				return out, arg, fmt.Errorf("only the rule %s has anchors; remove it, or write aggregate = %q", NormalisedScore, NormalisedScore)
			}
			if !slices.Contains(sorted, id) {
				return out, arg, fmt.Errorf("%s is not a competition of the benchmark.%s", id, diag.DidYouMean(id, sorted))
			}
		}
	}
	if b.Aggregate == NormalisedScore {
		out.Sample, out.Best = map[string]float64{}, map[string]float64{}
		maps.Copy(out.Sample, b.Sample)
		maps.Copy(out.Best, b.Best)
	}
	for _, id := range sorted {
		def, _ := catalog.Get(id) // seen above
		if arg, err := out.complete(def); err != nil {
			return out, arg, err
		}
	}
	return out, "", nil
}

// complete enters the anchors of a competition, and refuses one that the rule cannot rank.
func (b *Benchmark) complete(def *competitions.Definition) (arg string, err error) {
	ranked := len(def.Medals.Scores) > 0
	switch b.Aggregate {
	case Medals, MeanPercentile:
		if !ranked {
			return "aggregate", fmt.Errorf("%s has no human leaderboard, which %s needs; %s, %s and %s need none", def.ID, b.Aggregate, NormalisedScore, MeanRank, Elo)
		}
		return "", nil
	case MeanRank, Elo:
		return "", nil
	}
	if _, has := b.Sample[def.ID]; !has {
		if def.Facts.SampleScore == nil {
			return "sample", fmt.Errorf("the definition of %s has no sample_score; write sample = { %q = … }, the score that counts as 0", def.ID, def.ID)
		}
		b.Sample[def.ID] = *def.Facts.SampleScore
	}
	arg = "best"
	if _, has := b.Best[def.ID]; !has {
		if !ranked {
			return arg, fmt.Errorf("%s has no human leaderboard; write best = { %q = … }, the score that counts as 1", def.ID, def.ID)
		}
		b.Best[def.ID], arg = def.Medals.Scores[0], "sample"
	}
	if sample, best := b.Sample[def.ID], b.Best[def.ID]; !def.Medals.Better(best, sample) || math.IsInf(best-sample, 0) {
		return arg, fmt.Errorf("at %s the best score %v is not better than the sample's %v; %s is better there", def.ID, best, sample, competitions.Direction(def.Medals.LowerIsBetter))
	}
	return "", nil
}

// Compares reports whether the rule compares agents with each other, so that the figure of
// an agent depends on the others.
func (b Benchmark) Compares() bool { return b.Aggregate == MeanRank || b.Aggregate == Elo }

// Identity is the rule, the set and the anchors. Benchmarks of one identity can be on one
// board, whatever they are called.
func (b Benchmark) Identity() string {
	members := lists.Of(slices.Sorted(slices.Values(b.Competitions)), func(id string) string {
		if b.Aggregate == NormalisedScore {
			id += fmt.Sprintf(" (%v to %v)", b.Sample[id], b.Best[id])
		}
		return id
	})
	return b.Aggregate + " over " + strings.Join(members, ", ")
}

// String is "mine: mean_rank over 5 competitions".
func (b Benchmark) String() string {
	noun := "competitions"
	if len(b.Competitions) == 1 {
		noun = "competition"
	}
	return fmt.Sprintf("%s: %s over %d %s", b.Name, b.Aggregate, len(b.Competitions), noun)
}

// Ruled is an agent's figure by the rule of a benchmark.
type Ruled struct {
	// Value is a percentage; a rank from 1 to the number of agents; or a rating of which
	// the mean is EloMean.
	Value grading.Number `json:"value"`
	Uncertainty
	// Wins are the competitions at which the agent is more likely than not to beat each
	// other one; nil unless the rule compares agents.
	Wins *int `json:"wins,omitempty"`
	// Group numbers the tie groups from 1; see TieGroups.
	Group int `json:"tie_group"`
}

// Text writes the figure and its interval over other competitions, or over other runs.
func (r *Ruled) Text() (value, interval string) {
	if r == nil {
		return "-", "-"
	}
	of := cmp.Or(r.Competitions, r.Runs)
	if of == nil {
		return fmt.Sprintf("%.2f", float64(r.Value)), "-"
	}
	return fmt.Sprintf("%.2f", float64(r.Value)), strings.ReplaceAll(fmt.Sprintf("%.2f to %.2f", float64(of.Lower), float64(of.Upper)), "Inf", "∞")
}

// Cell is the figure with its interval for a cell, as in "1532.10 (1480.00 to 1590.00)".
func (r *Ruled) Cell() string {
	value, interval := r.Text()
	if interval == "-" {
		return value
	}
	return value + " (" + interval + ")"
}

// WinsText and GroupText write the number of wins and of the tie group.
func (r *Ruled) WinsText() string {
	if r == nil || r.Wins == nil {
		return "-"
	}
	return fmt.Sprint(*r.Wins)
}

// GroupText writes the number of the tie group.
func (r *Ruled) GroupText() string {
	if r == nil {
		return "-"
	}
	return fmt.Sprint(r.Group)
}

// Order is greater for the better of two figures of a rule; equal ones differ by less than
// rounding errors.
func (b Benchmark) Order(r *Ruled) float64 {
	v := math.Round(float64(r.Value)*1e9) / 1e9
	if b.Aggregate == MeanRank {
		return -v
	}
	return v
}

// Rank ranks agents by their runs at each competition, of which there are equally many. An
// agent without runs has no figure, and is compared with none; nor has one whose runs the
// rule cannot value, or that would be compared with nobody.
func (b Benchmark) Rank(agents [][][]Flags) []*Ruled {
	out := make([]*Ruled, len(agents))
	var known []int
	for i, runs := range agents {
		if _, ok := b.figure().samples(runs); ok && len(runs) > 0 {
			known = append(known, i)
		}
	}
	if b.Compares() && len(known) < 2 {
		return out
	}
	chosen := lists.Of(known, func(i int) [][]Flags { return agents[i] })
	ruled, values := b.rank(chosen)
	order := lists.Of(known, func(i int) int { return slices.Index(known, i) })
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(b.Order(ruled[y]), b.Order(ruled[x])) })
	for at, tie := range TieGroups(len(order), func(x, y int) float64 { return b.p(chosen, values, order[x], order[y]) }) {
		ruled[order[at]].Group = tie.Group
	}
	for at, i := range known {
		out[i] = ruled[at]
	}
	return out
}

// rank returns the figures of agents, and their values at each competition.
func (b Benchmark) rank(agents [][][]Flags) (out []*Ruled, values [][]float64) {
	if b.Compares() {
		return b.compare(agents)
	}
	for _, runs := range agents {
		samples, _ := b.figure().samples(runs) // seen in Rank
		m := measure(samples)
		out = append(out, &Ruled{Value: m.Mean, Uncertainty: m.Uncertainty})
		values = append(values, lists.Of(samples, func(s stat.Sample) float64 { return s.Mean }))
	}
	return out, values
}

// figure is what a run is worth by itself; where agents are compared, nothing is unknown.
func (b Benchmark) figure() figure {
	switch b.Aggregate {
	case Medals:
		return medals()
	case MeanPercentile:
		return measures[0]
	case NormalisedScore:
		return figure{NormalisedScore, false, nil, b.normalised}
	}
	return figure{b.Aggregate, false, nil, func(Flags) float64 { return 0 }}
}

// normalised is 0 for a score that is not better than the sample's, for none and for one
// that is not finite, and 1 for one that is not worse than the best.
func (b Benchmark) normalised(f Flags) float64 {
	if f.Score == nil {
		return 0
	}
	sample, best := b.Sample[f.CompetitionID], b.Best[f.CompetitionID]
	return min(max((*f.Score-sample)/(best-sample), 0), 1)
}

// p is that of the test whether two agents have equal figures: of medals the permutation test
// of every leaderboard, else that of the interval over other competitions. Differences are
// halved, since the rule of three is for values that are at most 1 apart: an agent that wins
// at all of five competitions is no better than a coin that falls alike with p = 0.06.
func (b Benchmark) p(agents [][][]Flags, values [][]float64, x, y int) float64 {
	if b.Aggregate == Medals {
		p, _ := stat.Permutation(medals().successes(agents[x], agents[y]))
		return p
	}
	differences := make([]float64, len(values[x]))
	for i := range differences {
		differences[i] = (values[x][i] - values[y][i]) / 2
	}
	return stat.AcrossP(differences)
}

// Tie is the tie group of an agent, and its comparison with the first of the group that it
// is in or fell out of.
type Tie struct {
	// Group counts from 1, and Head is the index of that agent.
	Group, Head int
	// P is adjusted for all pairs; 1 for the first.
	P float64
}

// TieGroups divides agents that are in order into groups: one that can be told apart from
// the first of a group opens the next. Which agent is the first is known from the same runs,
// so p is asked of all pairs: by Holm's method the probability that any two equal agents are
// told apart is below 5 %.
func TieGroups(n int, p func(i, j int) float64) (ties []Tie) {
	var ps []float64
	for i := range n {
		for j := range i {
			ps = append(ps, p(j, i))
		}
	}
	ps = stat.Holm(ps)
	group, head := 1, 0
	for i := range n {
		t := Tie{group, head, 1}
		if i > 0 {
			t.P = ps[i*(i-1)/2+head]
		}
		if t.P <= 1-Level {
			group, head = group+1, i
			t.Group = group
		}
		ties = append(ties, t)
	}
	return ties
}

// Explain says how the rule ranks, what its interval is, and what counts as nothing.
func (b Benchmark) Explain() string {
	text := map[string]string{
		Medals:          "the share of competitions with a medal, mean over seeds, percent; then by the shares above the median and valid, and by gold and silver medals",
		MeanPercentile:  "the share of the human teams that the score equals or beats, percent",
		NormalisedScore: "(score − sample) / (best − sample), at least 0 and at most 100 %",
		MeanRank:        "the expected rank of a run among one run of each other agent of the class, 1 is the best",
		Elo:             fmt.Sprintf("the rating of the Bradley-Terry model for these comparisons, of mean %d in the class", EloMean),
	}[b.Aggregate]
	test := "p-values of the difference over other competitions"
	if b.Aggregate == Medals {
		test = "p-values of the exact permutation test"
	}
	return fmt.Sprintf("Benchmark %s. Places by %s. Competitions weigh the same. Without a finite score a run counts as the worst. "+
		"Agents of one tie group cannot be told apart from its first, by %s, adjusted for all pairs of the class.", b, text, test)
}
