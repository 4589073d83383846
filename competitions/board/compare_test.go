package board

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/grading"
)

// compareCase is a case of testdata/compare.json, made by testdata/compare.py with
// scipy and statsmodels; it states the versions.
type compareCase struct {
	First, Second         []oneRun
	Runs                  [2]int
	Competitions          int
	Means                 [2]float64
	Within, Across        *[2]float64
	P, Smallest, Adjusted float64
}

type oneRun struct {
	id, seed string
	medal    float64
}

func (r *oneRun) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&r.id, &r.seed, &r.medal})
}

func graded(runs []oneRun) []grading.Graded {
	var out []grading.Graded
	for _, r := range runs {
		g := grading.Graded{Labels: map[string]string{"seed": r.seed}}
		g.CompetitionID, g.BronzeMedal = r.id, r.medal == 1
		out = append(out, g)
	}
	return out
}

func competitionIDs(reports ...[]grading.Graded) []string {
	ids := map[string]bool{}
	for _, g := range slices.Concat(reports...) {
		ids[g.CompetitionID] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

func TestCompareEqualsLibraries(t *testing.T) {
	data, err := os.ReadFile("testdata/compare.json")
	if err != nil {
		t.Fatal(err)
	}
	var oracle struct{ Cases []compareCase }
	if err := json.Unmarshal(data, &oracle); err != nil {
		t.Fatal(err)
	}
	for i, c := range oracle.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			first, second := graded(c.First), graded(c.Second)
			got, err := Compare(first, second, competitionIDs(first, second))
			if err != nil {
				t.Fatal(err)
			}
			d := got.Figures[shownFigure]
			if runs := [2]int{got.FirstRuns, got.SecondRuns}; runs != c.Runs || got.Competitions != c.Competitions {
				t.Errorf("%v runs at %d competitions, want %v at %d", runs, got.Competitions, c.Runs, c.Competitions)
			}
			near(t, "first", d.First, c.Means[0])
			near(t, "second", d.Second, c.Means[1])
			near(t, "p", *d.P, c.P)
			near(t, "smallest p", *d.SmallestP, c.Smallest)
			near(t, "adjusted p", *d.AdjustedP, c.Adjusted)
			nearEnds(t, "other runs", d.Runs, c.Within)
			nearEnds(t, "other competitions", d.Competitions, c.Across)
		})
	}
}

func near(t *testing.T, what string, got grading.Number, want float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > 1e-9 {
		t.Errorf("%s: got %v, want %v", what, float64(got), want)
	}
}

func nearEnds(t *testing.T, what string, got *Interval, want *[2]float64) {
	t.Helper()
	if (got == nil) != (want == nil) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
		return
	}
	if want != nil {
		near(t, what+" lower", got.Lower, want[0])
		near(t, what+" upper", got.Upper, want[1])
	}
}

// sameUpToRounding is the difference of comparisons of the same runs in another order,
// whose sums may differ in the last bit.
var sameUpToRounding = cmp.Comparer(func(a, b grading.Number) bool {
	return math.Abs(float64(a-b)) < 1e-9
})

// Exchanging the agents mirrors the comparison; the order of reports, of competitions
// that both lack, and of files, changes nothing.
func TestCompareProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		var runs [2][]oneRun
		for a := range runs {
			for c := range 7 {
				for s := range rng.IntN(4) {
					runs[a] = append(runs[a], oneRun{fmt.Sprint("c", c), fmt.Sprint(s), float64(rng.IntN(2))})
				}
			}
		}
		first, second := graded(runs[0]), graded(runs[1])
		ids := append(competitionIDs(first, second), "nothing")
		there, err := Compare(first, second, ids)
		if errors.Is(err, ErrNothingShared) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		back, err := Compare(second, first, ids)
		if err != nil {
			t.Fatal(err)
		}
		mirrored(t, there, back)
		shuffled := slices.Clone(second)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again, err := Compare(first, shuffled, ids)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(there, again, sameUpToRounding); diff != "" {
			t.Fatalf("the order of reports changes the comparison:\n%s", diff)
		}
	}
}

func mirrored(t *testing.T, there, back Comparison) {
	t.Helper()
	if there.FirstRuns != back.SecondRuns || there.FirstLeft != back.SecondLeft {
		t.Fatalf("%+v is not the mirror of %+v", there, back)
	}
	for name, a := range there.Figures {
		b := back.Figures[name]
		near(t, name+" difference", a.Difference, -float64(b.Difference))
		if (a.P == nil) != (name == "normalized_score") {
			t.Fatalf("%s: p %v", name, a.P)
		}
		if a.P != nil {
			near(t, name+" p", *a.P, float64(*b.P))
			near(t, name+" smallest p", *a.SmallestP, float64(*b.SmallestP))
		}
		for _, i := range [][2]*Interval{{a.Runs, b.Runs}, {a.Competitions, b.Competitions}} {
			if (i[0] == nil) != (i[1] == nil) {
				t.Fatalf("%s: one interval is missing", name)
			}
			if i[0] != nil {
				near(t, name, i[0].Lower, -float64(i[1].Upper))
				if i[0].Lower < -100 || i[0].Upper > 100 || i[0].Lower >= i[0].Upper {
					t.Fatalf("%s: interval %+v", name, i[0])
				}
			}
		}
	}
}

func TestCompareAgentWithItself(t *testing.T) {
	runs := graded([]oneRun{{"a", "", 1}, {"a", "", 0}, {"b", "", 1}, {"b", "", 1}})
	c, err := Compare(runs, runs, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Figures[shownFigure]; d.First != 75 || d.Difference != 0 || *d.P != 1 || *d.AdjustedP != 1 || d.Competitions != nil || d.Runs == nil || d.Runs.Lower > -50 {
		t.Errorf("got %+v", d)
	}
	if _, err := Compare(runs, nil, []string{"a"}); !errors.Is(err, ErrNothingShared) {
		t.Errorf("nothing is shared, but %v", err)
	}
}

// Reports that disagree on whether a competition has a leaderboard are compared where both
// say so.
func TestCompareUnranked(t *testing.T) {
	first, second := graded([]oneRun{{"a", "", 1}, {"b", "", 1}}), graded([]oneRun{{"a", "", 0}, {"b", "", 1}})
	second[1].Gold = grading.Cutoff(math.NaN())
	for _, sides := range [][2][]grading.Graded{{first, second}, {second, first}} {
		c, err := Compare(sides[0], sides[1], []string{"a", "b"})
		if err != nil || math.Abs(float64(c.Figures[shownFigure].Difference)) != 100 || MedalP(sides[0], sides[1], []string{"a", "b"}) != 1 {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// repeated is runs of an agent at c00, c01, …, with medals in some of them.
func repeated(runs, medals []int) (out []oneRun) {
	for c, n := range runs {
		for i := range n {
			out = append(out, oneRun{fmt.Sprintf("c%02d", c), fmt.Sprint(i), float64(Count(i < medals[c]))})
		}
	}
	return out
}

// The traps of the first comparisons: each told agents apart, or gave a figure that
// pointed elsewhere than its test.
func TestCompareTraps(t *testing.T) {
	ones := func(n, value int) []int { return slices.Repeat([]int{value}, n) }
	compare := func(a, b []oneRun) Difference {
		t.Helper()
		first, second := graded(a), graded(b)
		c, err := Compare(first, second, competitionIDs(first, second))
		if err != nil {
			t.Fatal(err)
		}
		return c.Figures[shownFigure]
	}
	t.Run("one competition with two runs", func(t *testing.T) {
		runs := append([]int{2}, ones(21, 1)...)
		d := compare(repeated(runs, append([]int{2, 1, 1, 1}, ones(18, 0)...)), repeated(runs, append([]int{1, 0, 0, 1}, ones(18, 0)...)))
		if d.Runs != nil || d.Competitions == nil || d.Competitions.Lower > 0 || *d.P < 0.05 {
			t.Errorf("got %+v", d)
		}
	})
	t.Run("deterministic agents", func(t *testing.T) {
		d := compare(repeated(ones(22, 3), append(ones(7, 3), ones(15, 0)...)), repeated(ones(22, 3), append(append(ones(7, 0), ones(7, 3)...), ones(8, 0)...)))
		if d.Difference != 0 || d.Runs.Upper-d.Runs.Lower < 5 || *d.P != 1 {
			t.Errorf("got %+v", d)
		}
	})
	t.Run("deterministic agents, good at different things", func(t *testing.T) {
		d := compare(repeated(ones(22, 3), append(ones(8, 3), ones(14, 0)...)), repeated(ones(22, 3), append(append(ones(8, 0), ones(6, 3)...), ones(8, 0)...)))
		if *d.P < 0.05 || d.Runs.Lower > 0 || d.Difference < 9 {
			t.Errorf("p %v beside %+v", *d.P, d.Runs)
		}
	})
	t.Run("unequal seeds point one way", func(t *testing.T) {
		a, b := append([]int{30}, ones(10, 0)...), append([]int{0}, ones(10, 1)...)
		d := compare(repeated(append([]int{30}, ones(10, 1)...), a), repeated(append([]int{30}, ones(10, 1)...), b))
		if d.Difference > -80 || *d.P < 0.05 == (d.Competitions.Upper > 0) {
			t.Errorf("%v with p %v and %+v", d.Difference, *d.P, d.Competitions)
		}
	})
	t.Run("all runs count", func(t *testing.T) {
		d := compare(repeated(ones(3, 6), ones(3, 3)), repeated(ones(3, 3), ones(3, 0)))
		if d.First != 50 || d.Second != 0 {
			t.Errorf("got %v and %v", d.First, d.Second)
		}
	})
	t.Run("few competitions", func(t *testing.T) {
		d := compare(repeated(ones(4, 3), ones(4, 3)), repeated(ones(4, 3), ones(4, 0)))
		if d.Competitions != nil || *d.P > 0.001 || *d.P != *d.SmallestP {
			t.Errorf("got %+v with p %v, at least %v", d.Competitions, *d.P, *d.SmallestP)
		}
	})
}

// Intervals of an agent's figures stay within 0 to 100 and are missing where nothing is
// known, as is the error of one seed.
func TestMeasures(t *testing.T) {
	rank := func(n int) *int { return &n }
	score := func(v grading.Number) *grading.Number { return &v }
	report := func(r *int, s *grading.Number) Flags {
		var g grading.Report
		g.Gold, g.Median, g.Teams, g.Rank, g.Score = 0.1, 0.5, 100, r, s
		g.BronzeMedal = true
		return FlagsOf(g)
	}
	seed := []Flags{report(rank(1), score(0)), report(rank(101), score(2)), report(nil, nil), report(rank(26), score(0.3)), report(rank(51), score(0.4))}
	one, two := Measures([][]Flags{seed}), Measures([][]Flags{seed, seed})
	if m := one["mean_percentile"]; m.Mean != 45 || m.Runs != nil || m.Competitions == nil {
		t.Errorf("mean percentile %+v", m)
	}
	near(t, "normalized score", one["normalized_score"].Mean, 35)
	for name, m := range two {
		if m.Runs == nil || m.Runs.Lower < 0 || m.Runs.Upper > 100 || m.Runs.Upper-m.Runs.Lower < 1 || m.Competitions.Lower < 0 || m.Competitions.Upper > 100 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if got := one[shownFigure].Shown() + ", " + two[shownFigure].Shown() + ", " + (Measure{}).Shown(); got != "26 to 100 *, 63 to 100, –" {
		t.Error(got)
	}
	e := NewEstimate([]float64{50})
	if got := e.Text(1) + ", " + NewEstimate([]float64{0, 100}).Text(2); got != "50.00 ± –, 50.00 ± 50.00" {
		t.Error(got)
	}
	// A report of the reference has no rank, so there is no percentile of it.
	reference := grading.Report{}
	reference.Gold, reference.Median = 0.1, 0.5
	if _, ok := Measures([][]Flags{{FlagsOf(reference)}})["mean_percentile"]; ok {
		t.Error("a report without teams has a percentile")
	}
}

// A p-value is never shown as a smaller one.
func TestPTextRoundsUp(t *testing.T) {
	for p, want := range map[float64]string{
		0.05: "0.05", 0.0500001: "0.0501", 0.04999: "0.05", 0.1: "0.1", 0.23: "0.23", 1.0 / 3: "0.334", 0.9995: "1", 1: "1",
		1e-300: "1e-300", 1.001e-7: "1.01e-07", 0.0099999: "0.01", math.Inf(1): "+Inf", math.NaN(): "NaN",
	} {
		if got := PText(grading.Number(p)); got != want {
			t.Errorf("%v is shown as %s, want %s", p, got, want)
		}
	}
}
