package stat_test

import (
	"encoding/json"
	"errors"
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
	McNemar   [][3]float64 `json:"mcnemar"`
	SignFlip  []flipCase   `json:"signflip"`
	Normal    [][3]float64 `json:"normal"`
	Bootstrap []struct {
		Strata     [][]int64
		Seed       uint64
		Resamples  int
		Level      float64
		Percentile [2]float64
		BCa        *[2]float64
	} `json:"bootstrap"`
}

type flipCase struct {
	differences []int64
	p           float64
}

func (c *flipCase) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.differences, &c.p})
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

func TestMcNemarEqualsStatsmodels(t *testing.T) {
	for _, c := range readOracle(t).McNemar {
		got, err := stat.McNemar(int(c[0]), int(c[1]))
		if err != nil || !near(got, c[2]) {
			t.Errorf("McNemar(%v, %v) = %v, %v; want %v", c[0], c[1], got, err, c[2])
		}
	}
	if _, err := stat.McNemar(-1, 2); err == nil {
		t.Error("a negative number of pairs is taken")
	}
}

func TestSignFlipEqualsScipy(t *testing.T) {
	cases := readOracle(t).SignFlip
	for _, c := range cases {
		if got := stat.SignFlip(c.differences); !near(got, c.p) {
			t.Errorf("SignFlip(%v) = %v, want %v", c.differences, got, c.p)
		}
	}
	if len(cases) < 20 || stat.SignFlip(nil) != 1 {
		t.Errorf("%d cases; no differences give %v", len(cases), stat.SignFlip(nil))
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

func TestBootstrapEqualsScipy(t *testing.T) {
	accelerated := 0
	for i, c := range readOracle(t).Bootstrap {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r, err := stat.Bootstrap{Resamples: c.Resamples, Seed: c.Seed, Confidence: c.Level}.MeanOfMeans(c.Strata)
			if err != nil {
				t.Fatal(err)
			}
			if p := r.Percentile; !near(p.Lower, c.Percentile[0]) || !near(p.Upper, c.Percentile[1]) {
				t.Errorf("percentile: got %v, want %v", p, c.Percentile)
			}
			if (r.BCa == nil) != (c.BCa == nil) {
				t.Fatalf("BCa: got %v, want %v", r.BCa, c.BCa)
			}
			if c.BCa == nil {
				return
			}
			accelerated++
			// Levels pass through the normal distribution twice.
			if b := r.BCa; math.Abs(b.Lower-c.BCa[0]) > 1e-10 || math.Abs(b.Upper-c.BCa[1]) > 1e-10 {
				t.Errorf("BCa: got %v, want %v", *b, *c.BCa)
			}
		})
	}
	if accelerated < 20 {
		t.Errorf("only %d BCa intervals were compared", accelerated)
	}
}

func TestBootstrapRefuses(t *testing.T) {
	good := stat.Bootstrap{Resamples: 10, Confidence: 0.95}
	for name, strata := range map[string][][]int64{"no strata": {}, "strata of one": {{1}, {0}}} {
		if _, err := good.MeanOfMeans(strata); !errors.Is(err, stat.ErrNoInterval) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := good.MeanOfMeans([][]int64{{1, 2}, {}}); err == nil {
		t.Error("an empty stratum is taken")
	}
	for _, bad := range []stat.Bootstrap{{Resamples: 1, Confidence: 0.9}, {Resamples: 9}, {Resamples: 9, Confidence: 1}, {Resamples: 9, Confidence: math.NaN()}} {
		if _, err := bad.MeanOfMeans([][]int64{{1, 2}}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	// All replicates are the observed value: there is no BCa interval.
	r, err := good.MeanOfMeans([][]int64{{1, 1}, {0, 0}})
	if err != nil || r.BCa != nil || r.Percentile != (stat.Interval{Lower: 0.5, Upper: 0.5}) {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Exchanging the agents mirrors everything but the draws, which are the same.
func TestMirrored(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var there, back [][]int64
		var sums, negated []int64
		for range 1 + rng.IntN(6) {
			s := make([]int64, 2+rng.IntN(4))
			var sum int64
			for i := range s {
				s[i] = int64(rng.IntN(3)) - 1
				sum += s[i]
			}
			n := slices.Clone(s)
			for i := range n {
				n[i] = -n[i]
			}
			there, back = append(there, s), append(back, n)
			sums, negated = append(sums, sum), append(negated, -sum)
		}
		if a, b := stat.SignFlip(sums), stat.SignFlip(negated); a != b {
			t.Fatalf("SignFlip(%v) = %v, mirrored %v", sums, a, b)
		}
		o := stat.Bootstrap{Resamples: 200, Seed: rng.Uint64(), Confidence: 0.9}
		x, err1 := o.MeanOfMeans(there)
		y, err2 := o.MeanOfMeans(back)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if x.Observed != -y.Observed || !near(x.Percentile.Lower, -y.Percentile.Upper) || !near(x.Percentile.Upper, -y.Percentile.Lower) {
			t.Fatalf("%+v is not the mirror of %+v", x, y)
		}
	}
	for b := range 30 {
		for c := range 30 {
			p, _ := stat.McNemar(b, c)
			q, _ := stat.McNemar(c, b)
			if p != q || p <= 0 || p > 1 {
				t.Fatalf("McNemar(%d, %d) = %v, mirrored %v", b, c, p, q)
			}
		}
	}
}

func BenchmarkMeanOfMeans(b *testing.B) {
	strata := make([][]int64, 75)
	for i := range strata {
		strata[i] = []int64{1, 0, -1}
	}
	for b.Loop() {
		if _, err := (stat.Bootstrap{Resamples: 10000, Confidence: 0.95}).MeanOfMeans(strata); err != nil {
			b.Fatal(err)
		}
	}
}
