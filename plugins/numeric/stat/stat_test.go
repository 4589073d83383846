package stat_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// oracle is testdata/oracle.json, made by testdata/oracle.py with statsmodels
// and scipy; it states the versions.
type oracle struct {
	McNemar     [][3]float64 `json:"mcnemar"`
	Permutation []tableCase  `json:"permutation"`
	Student     [][3]float64 `json:"student"`
	Normal      [][3]float64 `json:"normal"`
	Holm        [][2][]float64
	Halves      []struct {
		Level  float64
		Groups [][][]float64
		Within float64
		Across *float64
	}
	Welch []welchCase
}

type tableCase struct {
	strata      []stat.Successes
	p, smallest float64
}

func (c *tableCase) UnmarshalJSON(data []byte) error {
	var tables [][4]int
	err := json.Unmarshal(data, &[]any{&tables, &c.p, &c.smallest})
	for _, t := range tables {
		c.strata = append(c.strata, stat.Successes{First: t[0], FirstRuns: t[1], Second: t[2], SecondRuns: t[3]})
	}
	return err
}

type welchCase struct {
	x, y []float64
	half float64
}

func (c *welchCase) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.x, &c.y, &c.half})
}

func readOracle(t *testing.T) oracle {
	t.Helper()
	data, err := os.ReadFile("testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var o oracle
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// near allows what the libraries' own sums in floating point may be off by.
func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))
}

// With one run each the test is the exact one of McNemar, of discordant competitions.
func TestPermutationEqualsMcNemar(t *testing.T) {
	for _, c := range readOracle(t).McNemar {
		first, second := stat.Successes{First: 1, FirstRuns: 1, SecondRuns: 1}, stat.Successes{FirstRuns: 1, Second: 1, SecondRuns: 1}
		strata := append(slices.Repeat([]stat.Successes{first}, int(c[0])), slices.Repeat([]stat.Successes{second}, int(c[1]))...)
		if got, _ := stat.Permutation(strata); !near(got, c[2]) {
			t.Errorf("%v and %v discordant competitions give %v, want %v", c[0], c[1], got, c[2])
		}
	}
}

func TestPermutationEqualsFractions(t *testing.T) {
	cases := readOracle(t).Permutation
	for _, c := range cases {
		if p, smallest := stat.Permutation(c.strata); !near(p, c.p) || !near(smallest, c.smallest) {
			t.Errorf("Permutation(%v) = %v, %v; want %v, %v", c.strata, p, smallest, c.p, c.smallest)
		}
	}
	if p, _ := stat.Permutation([]stat.Successes{{First: 3, FirstRuns: 3, SecondRuns: 3}}); p != 0.1 {
		t.Errorf("two of twenty ways are %v", p)
	}
	if p, smallest := stat.Permutation(nil); len(cases) < 30 || p != 1 || smallest != 1 {
		t.Errorf("%d cases; no competitions give %v, %v", len(cases), p, smallest)
	}
}

// Numbers of runs without a small common multiple may be rounded, and p is never too small
// by more than its 13 digits.
func TestPermutationRoundsUp(t *testing.T) {
	var long, far []stat.Successes
	for i := range 75 {
		n := 7 + i%7
		long = append(long, stat.Successes{First: n / 2, FirstRuns: n, Second: n/2 - i%2, SecondRuns: n})
		far = append(far, stat.Successes{First: n, FirstRuns: n, SecondRuns: n + 1})
	}
	for _, c := range []struct {
		name   string
		strata []stat.Successes
		want   [2]float64
		above  float64
	}{
		// Counted with fractions, as testdata/oracle.py does.
		{"primes", []stat.Successes{{First: 9, FirstRuns: 11, Second: 5, SecondRuns: 13}, {First: 20, FirstRuns: 29, Second: 12, SecondRuns: 31}, {First: 3, FirstRuns: 17, Second: 4, SecondRuns: 19}},
			[2]float64{0.01143070844829111, 9.465759065414656e-24}, 1e-3},
		// Counted with integers in numpy, to ten digits.
		{"75 competitions", long, [2]float64{0.0549260648, 0}, 0.02},
		// All against none: what is below 1e-27 may be rounded up.
		{"far", far, [2]float64{0, 0}, math.Inf(1)},
	} {
		p, smallest := stat.Permutation(c.strata)
		if p < c.want[0]*(1-1e-12) || p > c.want[0]*(1+c.above) || c.want[1] > 0 && !near(smallest/c.want[1], 1) || p < smallest || smallest <= 0 {
			t.Errorf("%s: got %v and %v, want a little above %v", c.name, p, smallest, c.want)
		}
		slices.Reverse(c.strata)
		if again, least := stat.Permutation(c.strata); again != p || !near(least/smallest, 1) {
			t.Errorf("%s: %v and %v in another order", c.name, again, least)
		}
	}
	if p, _ := stat.Permutation(far); p > 1e-27 {
		t.Errorf("all against none gives %v", p)
	}
	if p, _ := stat.Permutation([]stat.Successes{{First: 500_900, FirstRuns: 1_000_000, Second: 500_000, SecondRuns: 1_000_000}}); !(math.Abs(p-0.2035940137) < 1e-9) {
		t.Errorf("a million runs give p %v", p)
	}
}

func TestStudentEqualsScipy(t *testing.T) {
	for _, c := range readOracle(t).Student {
		if got := stat.Student(c[0], int(c[1])); !near(got, c[2]) {
			t.Errorf("Student(%v, %v) = %v, want %v", c[0], c[1], got, c[2])
		}
	}
	if !math.IsInf(stat.Student(0.95, 0), 1) {
		t.Error("no degree of freedom gives a quantile")
	}
}

func TestHolmEqualsStatsmodels(t *testing.T) {
	for _, c := range readOracle(t).Holm {
		for i, got := range stat.Holm(c[0]) {
			if !near(got, c[1][i]) {
				t.Errorf("Holm(%v)[%d] = %v, want %v", c[0], i, got, c[1][i])
			}
		}
	}
	if got := stat.Holm([]float64{math.NaN(), 0.03}); !math.IsNaN(got[0]) || got[1] != 0.03 {
		t.Errorf("a test that was not made counts: %v", got)
	}
}

func samples(group [][]float64) (out []stat.Sample) {
	for _, values := range group {
		out = append(out, stat.NewSample(values))
	}
	return out
}

func TestIntervalsEqualScipy(t *testing.T) {
	o := readOracle(t)
	for i, c := range o.Halves {
		var groups [][]stat.Sample
		for _, g := range c.Groups {
			groups = append(groups, samples(g))
		}
		if got, ok := stat.Within(c.Level, groups...); !ok || !near(got, c.Within) {
			t.Errorf("%d: Within gives %v, %v; want %v", i, got, ok, c.Within)
		}
		var means []float64
		for _, s := range groups[0] {
			means = append(means, s.Mean)
		}
		got, ok := stat.Across(c.Level, means)
		if ok != (c.Across != nil) || ok && !near(got, *c.Across) {
			t.Errorf("%d: Across gives %v, %v; want %v", i, got, ok, c.Across)
		}
	}
	for _, c := range o.Welch {
		if got, ok := stat.Welch(0.95, stat.NewSample(c.x), stat.NewSample(c.y)); !ok || !near(got, c.half) {
			t.Errorf("Welch(%v, %v) = %v, %v; want %v", c.x, c.y, got, ok, c.half)
		}
	}
}

// What is not known is not zero: a single run, few competitions and equal values have no
// interval, and runs that all agree one of more than no width.
func TestNoVarianceIsNotZero(t *testing.T) {
	pair, one, zeros := stat.NewSample([]float64{1, 0}), stat.NewSample([]float64{1}), stat.NewSample([]float64{0, 0, 0})
	if _, ok := stat.Within(0.95, []stat.Sample{pair, one}); ok {
		t.Error("a competition with one run counts as without variance")
	}
	if half, ok := stat.Within(0.95, []stat.Sample{zeros}); !ok || !near(half, math.Log(40)/3) {
		t.Errorf("three runs that agree give %v, %v", half, ok)
	}
	if _, ok := stat.Across(0.95, make([]float64, stat.MinClusters-1)); ok {
		t.Error("few competitions have an interval over others")
	}
	for _, s := range [][]stat.Sample{{one}, {zeros}, {zeros, one}, {zeros, zeros}} {
		if half, ok := stat.Welch(0.95, s...); ok {
			t.Errorf("%v has an interval of %v", s, half)
		}
	}
	if i := stat.Around(0.75, 0.5, 0, 1); i != (stat.Interval{Lower: 0.25, Upper: 1}) {
		t.Errorf("got %v", i)
	}
}

func TestNormalEqualsScipy(t *testing.T) {
	for _, c := range readOracle(t).Normal {
		if got := stat.NormalQuantile(c[0]); !near(got, c[1]) {
			t.Errorf("NormalQuantile(%v) = %v, want %v", c[0], got, c[1])
		}
		if got := stat.NormalCDF(c[1]); math.Abs(got-c[2]) > 1e-12*c[2] {
			t.Errorf("NormalCDF(%v) = %v, want %v", c[1], got, c[2])
		}
	}
	if !math.IsInf(stat.NormalQuantile(0), -1) || !math.IsInf(stat.NormalQuantile(1), 1) || !math.IsNaN(stat.NormalQuantile(2)) {
		t.Error("the ends of NormalQuantile")
	}
}

// Exchanging the agents changes no p.
func TestMirrored(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var there, back []stat.Successes
		for range 1 + rng.IntN(8) {
			n, m := 1+rng.IntN(6), 1+rng.IntN(6)
			s := stat.Successes{First: rng.IntN(n + 1), FirstRuns: n, Second: rng.IntN(m + 1), SecondRuns: m}
			there, back = append(there, s), append(back, stat.Successes{First: s.Second, FirstRuns: m, Second: s.First, SecondRuns: n})
		}
		p, smallest := stat.Permutation(there)
		q, least := stat.Permutation(back)
		if !near(p, q) || !near(smallest, least) || p < smallest || smallest <= 0 || p > 1 {
			t.Fatalf("%v: p %v (%v), mirrored %v (%v)", there, p, smallest, q, least)
		}
	}
}

// Numbers of runs as boards have them: equal, unequal, and as after a sequential
// comparison. A board of 28 agents makes 500 tests.
func BenchmarkPermutation(b *testing.B) {
	equal := func(int) (first, second int) { return 3, 3 }
	agents := func(int) (first, second int) { return 8, 3 }
	unequal := func(i int) (first, second int) { return 2 + i%9, 1 + i%7 }
	budget := func(i int) (first, second int) { return 20 + 7*i, 20 + 7*i }
	thousand := func(i int) (first, second int) {
		if i > 0 {
			return 3, 3
		}
		return 1000, 1000
	}
	for _, c := range []struct {
		name         string
		competitions int
		runs         func(int) (first, second int)
	}{{"equal", 75, equal}, {"agents", 75, agents}, {"unequal", 22, unequal}, {"unequal", 75, unequal}, {"budget", 22, budget}, {"thousand", 22, thousand}} {
		strata := make([]stat.Successes, c.competitions)
		for i := range strata {
			n, m := c.runs(c.competitions - 1 - i)
			strata[i] = stat.Successes{First: n / 2, FirstRuns: n, Second: m / 3, SecondRuns: m}
		}
		b.Run(fmt.Sprint(c.name, "/", c.competitions), func(b *testing.B) {
			for b.Loop() {
				stat.Permutation(strata)
			}
		})
	}
}

// TestBradleyTerry has the closed form of two agents, and a maximum of several: the expected
// wins of each are those that it has.
func TestBradleyTerry(t *testing.T) {
	two := stat.BradleyTerry([][]float64{{0, 6}, {2, 0}})
	if math.Abs(two[0]-math.Log(3)/2) > 1e-13 || math.Abs(two[0]+two[1]) > 1e-13 {
		t.Error(two)
	}
	wins := [][]float64{{0, 9.5, 10.5, 3}, {1.5, 0, 8, 7.5}, {0.5, 3, 0, 1}, {8, 3.5, 10, 0}}
	s := stat.BradleyTerry(wins)
	for i := range s {
		won, expected := 0.0, 0.0
		for j := range s {
			if i != j {
				won += wins[i][j]
				expected += (wins[i][j] + wins[j][i]) / (1 + math.Exp(s[j]-s[i]))
			}
		}
		if math.Abs(won-expected) > 1e-11 {
			t.Errorf("agent %d: %v wins, expected %v", i, won, expected)
		}
	}
	if got := stat.BradleyTerry([][]float64{{0}}); got[0] != 0 {
		t.Errorf("an agent alone has the strength %v", got[0])
	}
	if got := stat.Performance([]float64{two[1]}, 0.75); math.Abs(got-two[0]) > 1e-13 {
		t.Errorf("a share of 0.75 is a strength of %v, not %v", got, two[0])
	}
}

// TestAcrossP inverts the interval: at one minus p, it ends at 0.
func TestAcrossP(t *testing.T) {
	for _, values := range [][]float64{{0.1, 0.4, -0.2, 0.3, 0.5, 0.2}, {1, 1, 1, 1, 1, 1, 1}, {-0.3, 0.1, -0.4, -0.6, -0.2}} {
		p := stat.AcrossP(values)
		half, ok := stat.Across(1-p, values)
		if mean := math.Abs(stat.NewSample(values).Mean); !ok || math.Abs(half-mean) > 1e-9 {
			t.Errorf("%v: p %v, half %v, mean %v", values, p, half, mean)
		}
	}
	if p := stat.AcrossP([]float64{1, 1, 1, 1}); p != 1 {
		t.Errorf("four competitions have p %v", p)
	}
	if p := stat.AcrossP([]float64{0.5, -0.5, 0.25, -0.25, 0}); p != 1 {
		t.Errorf("no difference has p %v", p)
	}
}
