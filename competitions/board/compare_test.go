package board

import (
	"encoding/json"
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

type ends struct {
	Percentile, BCa *[2]float64
}

// compareCase is a case of testdata/compare.json, made by testdata/compare.py
// with statsmodels and scipy; it states the versions.
type compareCase struct {
	First, Second         []oneRun
	By                    PairedBy
	Seed                  uint64
	Resamples, Pairs      int
	Table                 [4]int
	McNemar               float64
	Flip                  *float64
	Means                 [2]float64
	Stratified, Clustered *ends
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
			got, err := NewPairing(first, second, competitionIDs(first, second)).Compare(Resampling{c.Resamples, c.Seed})
			if err != nil {
				t.Fatal(err)
			}
			d := got.Figures["any_medal_percentage"]
			if diff := cmp.Diff(c.Table, [4]int{d.Both, d.OnlyFirst, d.OnlySecond, d.Neither}); diff != "" || got.Pairs != c.Pairs || got.PairedBy != c.By {
				t.Errorf("%d pairs by %s, want %d by %s; (-want +got):\n%s", got.Pairs, got.PairedBy, c.Pairs, c.By, diff)
			}
			near(t, "first", d.First, c.Means[0])
			near(t, "second", d.Second, c.Means[1])
			near(t, "McNemar", d.McNemarP, c.McNemar)
			if c.Flip != nil {
				near(t, "sign flip", d.SignFlipP, *c.Flip)
			}
			if c.Stratified != nil {
				nearEnds(t, "stratified", d.Stratified, *c.Stratified)
			}
			if c.Clustered != nil {
				nearEnds(t, "clustered", d.Clustered, *c.Clustered)
			}
		})
	}
}

func near(t *testing.T, what string, got grading.Number, want float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > 1e-9 {
		t.Errorf("%s: got %v, want %v", what, float64(got), want)
	}
}

func nearEnds(t *testing.T, what string, got *Intervals, want ends) {
	t.Helper()
	if got == nil || (got.BCa == nil) != (want.BCa == nil) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
		return
	}
	near(t, what+" lower", got.Percentile.Lower, want.Percentile[0])
	near(t, what+" upper", got.Percentile.Upper, want.Percentile[1])
	if want.BCa != nil {
		near(t, what+" BCa lower", got.BCa.Lower, want.BCa[0])
		near(t, what+" BCa upper", got.BCa.Upper, want.BCa[1])
	}
}

// Exchanging the agents mirrors the comparison; the order of reports with
// seeds, of competitions that both lack, and of files, changes nothing.
func TestCompareProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		var runs [2][]oneRun
		for a := range runs {
			for c := range 6 {
				for s := range rng.IntN(4) {
					runs[a] = append(runs[a], oneRun{fmt.Sprint("c", c), fmt.Sprint(s), float64(rng.IntN(2))})
				}
			}
		}
		first, second := graded(runs[0]), graded(runs[1])
		ids := append(competitionIDs(first, second), "nothing")
		o := Resampling{100, rng.Uint64()}
		pairing := NewPairing(first, second, ids)
		there, err := pairing.Compare(o)
		if err != nil {
			if len(pairing.Pairs) > 0 {
				t.Fatal(err)
			}
			continue
		}
		back, err := NewPairing(second, first, ids).Compare(o)
		if err != nil {
			t.Fatal(err)
		}
		mirrored(t, there, back)
		shuffled := slices.Clone(second)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again, err := NewPairing(first, shuffled, ids).Compare(o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(there, again, sameNumber); diff != "" {
			t.Fatalf("the order of reports changes the comparison:\n%s", diff)
		}
	}
}

func mirrored(t *testing.T, there, back Comparison) {
	t.Helper()
	if there.Pairs != back.Pairs || len(there.Unpaired) != len(back.Unpaired) {
		t.Fatalf("%d and %d pairs", there.Pairs, back.Pairs)
	}
	for name, a := range there.Figures {
		b := back.Figures[name]
		if a.First != b.Second || a.OnlyFirst != b.OnlySecond || a.Difference != -b.Difference || a.McNemarP != b.McNemarP || a.SignFlipP != b.SignFlipP {
			t.Fatalf("%s: %+v is not the mirror of %+v", name, a, b)
		}
		for _, i := range [][2]*Intervals{{a.Stratified, b.Stratified}, {a.Clustered, b.Clustered}} {
			if (i[0] == nil) != (i[1] == nil) {
				t.Fatalf("%s: one interval is missing", name)
			}
			if i[0] != nil {
				near(t, name, i[0].Percentile.Lower, -float64(i[1].Percentile.Upper))
			}
		}
	}
}

func TestCompareAgentWithItself(t *testing.T) {
	runs := graded([]oneRun{{"a", "", 1}, {"a", "", 0}, {"b", "", 1}})
	c, err := NewPairing(runs, runs, []string{"a", "b"}).Compare(DefaultResampling)
	if err != nil {
		t.Fatal(err)
	}
	d := c.Figures["any_medal_percentage"]
	if d.First != 75 || d.Difference != 0 || d.McNemarP != 1 || d.SignFlipP != 1 || d.Stratified.BCa != nil || d.Stratified.Percentile != (Interval{}) {
		t.Errorf("got %+v", d)
	}
	if _, err := NewPairing(runs, nil, []string{"a"}).Compare(DefaultResampling); err == nil {
		t.Error("there are no pairs, but no error")
	}
}
