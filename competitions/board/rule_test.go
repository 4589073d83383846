package board

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
)

// ruleCase is a case of testdata/rules.json, which rules.py makes with numpy and scipy.
type ruleCase struct {
	Lower        []bool
	Sample, Best []float64
	Runs         [][][]ruleRun
	Rules        map[string][]struct {
		Value              float64
		Runs, Competitions *[2]float64
		Group              int
	}
}

type ruleRun struct {
	score      *float64
	percentile float64
	medal      bool
}

func (r *ruleRun) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&r.score, &r.percentile, &r.medal})
}

func (c ruleCase) benchmark(rule string) (b Benchmark, agents [][][]Flags) {
	b.Aggregate, b.Sample, b.Best = rule, map[string]float64{}, map[string]float64{}
	for i := range c.Lower {
		id := fmt.Sprint("c", i)
		b.Competitions, b.Sample[id], b.Best[id] = append(b.Competitions, id), c.Sample[i], c.Best[i]
	}
	for _, agent := range c.Runs {
		var at [][]Flags
		for i, runs := range agent {
			var flags []Flags
			for _, r := range runs {
				flags = append(flags, Flags{CompetitionID: b.Competitions[i], Score: r.score, lower: c.Lower[i], Percentile: r.percentile, BronzeMedal: r.medal})
			}
			at = append(at, flags)
		}
		agents = append(agents, at)
	}
	return b, agents
}

// TestRulesEqualLibraries compares figures, intervals and tie groups with those of numpy and
// scipy. Theirs differ in the last digits, as sums are in another order and scipy's
// optimizer ends at 1e-13.
func TestRulesEqualLibraries(t *testing.T) {
	text, err := os.ReadFile("testdata/rules.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []ruleCase }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for n, c := range file.Cases {
		for _, rule := range Rules() {
			b, agents := c.benchmark(rule)
			got, want := b.Rank(agents), c.Rules[rule]
			if want == nil {
				if len(agents) > 1 || got[0] != nil {
					t.Errorf("case %d: %s of an agent alone is %+v", n, rule, got[0])
				}
				continue
			}
			for i, w := range want {
				seen[rule]++
				name := fmt.Sprintf("case %d, %s, agent %d", n, rule, i)
				near(t, name, got[i].Value, w.Value)
				nearEnds(t, name+" over runs", got[i].Runs, w.Runs)
				if of := got[i].Uncertainty.Competitions; of != nil {
					of.Lower, of.Upper = max(of.Lower, -1e308), min(of.Upper, 1e308)
				}
				nearEnds(t, name+" over competitions", got[i].Uncertainty.Competitions, w.Competitions)
				if rule != Medals && got[i].Group != w.Group {
					t.Errorf("%s is in group %d, not %d", name, got[i].Group, w.Group)
				}
			}
		}
	}
	if len(seen) != len(Rules()) {
		t.Errorf("compared %v", seen)
	}
}

// TestRankOfHostileRuns: scores that are not finite are none, agents without runs are
// compared with none, and equal agents have equal figures and one group.
func TestRankOfHostileRuns(t *testing.T) {
	score := func(v float64) Flags {
		n := grading.Number(v)
		return FlagsOf(grading.Report{CompetitionID: "a", Score: &n, Detail: grading.Detail{ExactScore: &n}})
	}
	worst := []Flags{score(math.NaN()), score(math.Inf(1)), score(math.Inf(-1)), {CompetitionID: "a"}}
	some := []Flags{score(-math.MaxFloat64), score(-math.MaxFloat64), score(-math.MaxFloat64), score(-math.MaxFloat64)}
	for _, rule := range []string{MeanRank, Elo} {
		b := Benchmark{step.Benchmark{Competitions: []string{"a"}, Aggregate: rule}}
		got := b.Rank([][][]Flags{{worst}, nil, {some}, {worst}})
		if got[1] != nil || got[0].Value != got[3].Value || !(b.Order(got[2]) > b.Order(got[0])) || got[0].Group != 1 || *got[2].Wins != 1 || *got[0].Wins != 0 {
			t.Errorf("%s: %+v %+v %+v %+v", rule, got[0], got[1], got[2], got[3])
		}
		for _, r := range b.Rank([][][]Flags{{worst}, nil}) {
			if r != nil {
				t.Errorf("%s of an agent alone is %+v", rule, r)
			}
		}
	}
	b := Benchmark{step.Benchmark{Competitions: []string{"a"}, Aggregate: NormalisedScore, Sample: map[string]float64{"a": 1}, Best: map[string]float64{"a": 0}}}
	got := b.Rank([][][]Flags{{worst}, {{score(-5)}}, {{score(0.25)}}, {{score(7)}}})
	if got[0].Value != 0 || got[1].Value != 100 || got[2].Value != 75 || got[3].Value != 0 {
		t.Errorf("%v %v %v %v", got[0].Value, got[1].Value, got[2].Value, got[3].Value)
	}
}

func ruleCatalog(t *testing.T) *competitions.Catalog {
	t.Helper()
	folder := fstest.MapFS{}
	for id, facts := range map[string]string{"ranked": "sample_score = 0.5\n  medals { scores = [0.9, 0.8] }", "own": "", "lower": "sample_score = 0.1\n  medals { scores = [0.2, 0.8] }"} {
		folder[id+"/competition.hcl"] = &fstest.MapFile{Data: fmt.Appendf(nil, `competition %q {
  title       = "X"
  category    = "x"
  complexity  = "low"
  description = "X."
  answers     = "private/test.csv"
  sample      = "public/sample_submission.csv"
  %s
  prepare {}
  grade { metric = "accuracy" }
}`, id, facts)}
	}
	c, err := competitions.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNewBenchmark says which argument of a benchmark is wrong, and completes the anchors.
func TestNewBenchmark(t *testing.T) {
	catalog := ruleCatalog(t)
	for name, c := range map[string]struct {
		b         step.Benchmark
		arg, want string
	}{
		"empty":             {step.Benchmark{Aggregate: MeanRank}, "competitions", "at least one competition"},
		"unknown":           {step.Benchmark{Competitions: []string{"rankd"}, Aggregate: MeanRank}, "competitions", `did you mean "ranked"?`},
		"twice":             {step.Benchmark{Competitions: []string{"own", "ranked", "own"}, Aggregate: MeanRank}, "competitions", "own is in the list twice"},
		"rule":              {step.Benchmark{Competitions: []string{"own"}, Aggregate: "mean_ranks"}, "aggregate", `there is no rule "mean_ranks"`},
		"no leaderboard":    {step.Benchmark{Competitions: []string{"ranked", "own"}, Aggregate: Medals}, "aggregate", "own has no human leaderboard"},
		"percentile":        {step.Benchmark{Competitions: []string{"own"}, Aggregate: MeanPercentile}, "aggregate", "own has no human leaderboard"},
		"no sample":         {step.Benchmark{Competitions: []string{"own"}, Aggregate: NormalisedScore}, "sample", "own has no sample_score"},
		"no best":           {step.Benchmark{Competitions: []string{"own"}, Aggregate: NormalisedScore, Sample: map[string]float64{"own": 0}}, "best", "own has no human leaderboard"},
		"anchors elsewhere": {step.Benchmark{Competitions: []string{"own"}, Aggregate: Elo, Best: map[string]float64{"own": 1}}, "best", "only the rule normalised_score has anchors"},
		"foreign anchor":    {step.Benchmark{Competitions: []string{"ranked"}, Aggregate: NormalisedScore, Best: map[string]float64{"own": 1}}, "best", "own is not a competition of the benchmark"},
		"equal anchors":     {step.Benchmark{Competitions: []string{"ranked"}, Aggregate: NormalisedScore, Best: map[string]float64{"ranked": 0.5}}, "best", "not better than the sample's 0.5"},
		"wrong direction":   {step.Benchmark{Competitions: []string{"lower"}, Aggregate: NormalisedScore}, "sample", "lower is better there"},
	} {
		if _, arg, err := NewBenchmark(c.b, catalog); err == nil || arg != c.arg || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q of %q, not %q of %q", name, err, arg, c.want, c.arg)
		}
	}
	given := step.Benchmark{Competitions: []string{"ranked", "own"}, Aggregate: NormalisedScore, Sample: map[string]float64{"own": 0}, Best: map[string]float64{"own": 2}}
	b, _, err := NewBenchmark(given, catalog)
	if diff := cmp.Diff(map[string]float64{"own": 2, "ranked": 0.9}, b.Best); err != nil || diff != "" || b.Sample["ranked"] != 0.5 || len(given.Best) != 1 {
		t.Error(err, diff, b.Sample, given.Best)
	}
	if got := b.Identity(); got != "normalised_score over own (0 to 2), ranked (0.5 to 0.9)" {
		t.Error(got)
	}
}

// TestTieGroups opens a group with the first agent that can be told apart from its head, by
// p-values adjusted for all pairs.
func TestTieGroups(t *testing.T) {
	p := map[[2]int]float64{{0, 1}: 0.03, {0, 2}: 0.01, {1, 2}: 0.5} // by Holm: 0.06, 0.03, 0.5
	var got []int
	for _, tie := range TieGroups(3, func(i, j int) float64 { return p[[2]int{i, j}] }) {
		got = append(got, tie.Group)
	}
	if !slices.Equal(got, []int{1, 1, 2}) {
		t.Error(got)
	}
	if len(TieGroups(0, nil)) != 0 {
		t.Error("nobody has a group")
	}
}
