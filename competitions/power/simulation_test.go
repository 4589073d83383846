package power_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mleflow/mleflow/competitions/power"
)

// The simulated comparisons look for a difference of 5 points with a confidence of 95 %.
const (
	wanted     = 0.05
	confidence = 0.95
	budget     = 10000 // pairs: enough that the median is no limit
)

// scene is a kind of comparison: rates of two agents at k competitions.
type scene struct {
	name  string
	draw  func(rng *rand.Rand, k int) []power.Rates
	least float64 // only draws with a true difference between these
	most  float64
}

func scenes(p published) []scene {
	each := func(first, second float64) func(*rand.Rand, int) []power.Rates {
		return func(_ *rand.Rand, k int) []power.Rates { return power.Given(first, second, k) }
	}
	mixed := func(first, second func(i int) float64) func(*rand.Rand, int) []power.Rates {
		return func(_ *rand.Rand, k int) []power.Rates {
			rates := power.Given(0, 0, k)
			for i := range rates {
				rates[i].First, rates[i].Second = first(i), second(i)
			}
			return rates
		}
	}
	every := func(n int, rate float64) func(int) float64 {
		return func(i int) float64 {
			if i%n == 0 {
				return rate
			}
			return 0
		}
	}
	return []scene{
		{"published pairs, all", p.pair, 0, 1},
		{"published pairs, under 5 points apart", p.pair, 0, wanted},
		{"published pairs, 5 to 15 points apart", p.pair, wanted, 0.15},
		{"published pairs, over 15 points apart", p.pair, 0.15, 1},
		{"published agent against itself", p.same, 0, 1},
		{"noisy, 30 % and 30 % everywhere", each(0.3, 0.3), 0, 1},
		{"noisy, 35 % and 30 % everywhere", each(0.35, 0.3), 0, 1},
		{"noisy, 40 % and 30 % everywhere", each(0.4, 0.3), 0, 1},
		{"half noisy, 50 % and 50 %, half never", mixed(every(2, 0.5), every(2, 0.5)), 0, 1},
		{"half noisy, 60 % and 50 %, half never", mixed(every(2, 0.6), every(2, 0.5)), 0, 1},
		{"deterministic, the same", mixed(every(3, 1), every(3, 1)), 0, 1},
		{"deterministic, one in ten gained", mixed(every(10, 1), every(10, 0)), 0, 1},
		{"opposite, 70 % and 30 % by turns", mixed(func(i int) float64 { return 0.3 + 0.4*float64(i%2) }, func(i int) float64 { return 0.7 - 0.4*float64(i%2) }), 0, 1},
	}
}

// row is what simulations of a scene gave.
type row struct {
	Name         string  `json:"name"`
	Competitions int     `json:"competitions"`
	Simulations  int     `json:"simulations"`
	Wrong        float64 `json:"wrong"`
	Undecided    float64 `json:"undecided"`
	Pairs        float64 `json:"median_pairs"`
	Fixed        float64 `json:"median_fixed_pairs"`
	Saved        float64 `json:"saved"` // of the medians, a share of the fixed design's
}

type simulated struct {
	answer power.Answer
	truth  float64
	fixed  int
}

func (s simulated) wrong() bool {
	switch s.answer.Decision {
	case power.FirstBetter:
		return s.truth <= 0
	case power.SecondBetter:
		return s.truth >= 0
	case power.NoDifference:
		return math.Abs(s.truth) > wanted-1e-9
	}
	return false
}

func (sc scene) simulate(seed uint64, k int) (simulated, error) {
	rng := rand.New(rand.NewPCG(seed, uint64(k)))
	rates := sc.draw(rng, k)
	for d := math.Abs(power.Difference(rates)); d < sc.least || d > sc.most; d = math.Abs(power.Difference(rates)) {
		rates = sc.draw(rng, k)
	}
	answer, err := decide(rng, rates)
	return simulated{answer, power.Difference(rates), fixedPairs(rates, wanted)}, err
}

// decide draws the outcomes of one comparison.
func decide(rng *rand.Rand, rates []power.Rates) (power.Answer, error) {
	of, ids := map[string]power.Rates{}, make([]string, len(rates))
	for i, r := range rates {
		of[r.Competition], ids[i] = r, r.Competition
	}
	s, err := power.NewSequential(power.Design{Competitions: ids, Difference: wanted, Confidence: confidence, Pairs: budget})
	if err != nil {
		return power.Answer{}, err
	}
	for next := s.Next(budget); len(next) > 0; next = s.Next(budget) {
		for _, pair := range next {
			o, r := power.Outcome{Pair: pair}, of[pair.Competition]
			if rng.Float64() < r.First {
				o.First = 1
			}
			if rng.Float64() < r.Second {
				o.Second = 1
			}
			if err := s.Add(o); err != nil {
				return power.Answer{}, err
			}
		}
	}
	return s.Answer(), nil
}

func (sc scene) run(t *testing.T, k, n int) row {
	all, failed := make([]simulated, n), make([]error, n)
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			for i := w; i < n; i += workers {
				all[i], failed[i] = sc.simulate(uint64(i), k)
			}
		})
	}
	group.Wait()
	r := row{Name: sc.name, Competitions: k, Simulations: n}
	var pairs, fixed []float64
	for i, s := range all {
		if failed[i] != nil {
			t.Fatal(failed[i])
		}
		if s.wrong() {
			r.Wrong += 1 / float64(n)
		}
		if s.answer.Decision == power.Undecided {
			r.Undecided += 1 / float64(n)
		}
		pairs, fixed = append(pairs, float64(s.answer.Pairs)), append(fixed, float64(s.fixed))
	}
	r.Pairs, r.Fixed = median(pairs), median(fixed)
	r.Saved = 1 - r.Pairs/r.Fixed
	return r
}

func median(of []float64) float64 {
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

const stored = "testdata/simulation.golden"

// table is the file of results and how it was made.
type table struct {
	Command  string            `json:"command"`
	Versions map[string]string `json:"versions"`
	Rows     []row             `json:"rows"`
}

func readTable(t *testing.T) []row {
	t.Helper()
	data, err := os.ReadFile(stored)
	if err != nil {
		t.Fatal(err)
	}
	var of table
	if err := json.Unmarshal(data, &of); err != nil {
		t.Fatal(err)
	}
	return of.Rows
}

// TestSimulation wants wrong answers in at most 5 % of the comparisons, and the medians of
// testdata/simulation.golden, from which docs/leaderboard.md has its table and its picture.
// It simulates a few; this makes 10,000 of each and writes table and picture, in about half
// an hour of two processors:
//
//	UPDATE_GOLDEN=1 MLEFLOW_SIMULATIONS=10000 go test ./competitions/power -run TestSimulation -v -timeout 2h
func TestSimulation(t *testing.T) {
	n := simulations(t, 25)
	var rows []row
	for _, k := range []int{22, 75} {
		for _, sc := range scenes(readPublished(t)) {
			r := sc.run(t, k, n)
			t.Logf("%d competitions, %s: wrong %.2f %%, undecided %.2f %%, pairs %.0f, fixed %.0f, saved %.0f %%", k, r.Name, 100*r.Wrong, 100*r.Undecided, r.Pairs, r.Fixed, 100*r.Saved)
			if r.Wrong > 0.05+3*math.Sqrt(0.05*0.95/float64(n)) {
				t.Errorf("%d competitions, %s: %.1f %% of the answers are wrong", k, r.Name, 100*r.Wrong)
			}
			rows = append(rows, r)
		}
	}
	if os.Getenv("UPDATE_GOLDEN") != "" && os.Getenv("MLEFLOW_SIMULATIONS") != "" {
		made := table{fmt.Sprintf("UPDATE_GOLDEN=1 MLEFLOW_SIMULATIONS=%d go test ./competitions/power -run TestSimulation", n), map[string]string{"go": runtime.Version()}, rows}
		data, err := json.MarshalIndent(made, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		write(t, stored, append(data, '\n'))
	}
	known := readTable(t)
	if len(known) != len(rows) {
		t.Fatalf("%s has %d rows, not %d; UPDATE_GOLDEN=1 MLEFLOW_SIMULATIONS=10000 makes it", stored, len(known), len(rows))
	}
	for i, r := range rows {
		if k := known[i]; k.Name != r.Name || k.Competitions != r.Competitions || math.Abs(k.Pairs/r.Pairs-1) > 2.5/math.Sqrt(float64(n)) {
			t.Errorf("%+v is not as in %s: %+v", r, stored, k)
		}
	}
}

// TestSimulationIsDocumented keeps the table of docs/leaderboard.md and docs/evaluate.svg.
func TestSimulationIsDocumented(t *testing.T) {
	rows := readTable(t)
	docs := filepath.Join("..", "..", "docs")
	page, err := os.ReadFile(filepath.Join(docs, "leaderboard.md"))
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- simulation -->\n", "<!-- end of simulation -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("docs/leaderboard.md has no lines %q and %q", begin, end)
	}
	for name, want := range map[string]string{"leaderboard.md": before + begin + markdown(rows) + end + after, "evaluate.svg": picture(rows)} {
		path := filepath.Join(docs, name)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			write(t, path, []byte(want))
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("docs/%s is not made of %s: make golden (%v)", name, stored, err)
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func markdown(rows []row) string {
	var s strings.Builder
	s.WriteString("| Agents | Competitions | Wrong | Undecided | Pairs, median | Fixed design | Saved | Simulations |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range rows {
		fmt.Fprintf(&s, "| %s | %d | %.1f %% | %.1f %% | %.0f | %.0f | %.0f %% | %d |\n", r.Name, r.Competitions, 100*r.Wrong, 100*r.Undecided, r.Pairs, r.Fixed, 100*r.Saved, r.Simulations)
	}
	return s.String()
}

// picture draws the pairs of each row as a bar, and a line where the fixed design ends.
func picture(rows []row) string {
	const left, width, step, top = 330, 420, 22, 56
	most := 0.0
	for _, r := range rows {
		most = max(most, r.Pairs, r.Fixed)
	}
	var s bytes.Buffer
	y := top
	for i, r := range rows {
		if i == 0 || rows[i-1].Competitions != r.Competitions {
			fmt.Fprintf(&s, `<text x="8" y="%d" font-weight="bold">%d competitions</text>`+"\n", y+15, r.Competitions)
			y += step
		}
		bar, fixed := int(width*r.Pairs/most), left+int(width*r.Fixed/most)
		fmt.Fprintf(&s, `<text x="8" y="%d">%s</text><rect x="%d" y="%d" width="%d" height="12" fill="#2f81f7"/><line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#d4762c" stroke-width="3"/><text x="%d" y="%d">%+.0f %%</text>`+"\n",
			y+15, r.Name, left, y+5, bar, fixed, y+2, fixed, y+20, left+width+16, y+15, -100*r.Saved)
		y += step
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12" fill="#768390">`+"\n", left+width+80, y+12, left+width+80, y+12) +
		`<text x="8" y="20" font-weight="bold" font-size="14">Pairs of attempts until the answer, median</text>` + "\n" +
		`<rect x="8" y="31" width="10" height="10" fill="#2f81f7"/><text x="24" y="41">sequential</text><rect x="120" y="31" width="4" height="10" fill="#d4762c"/><text x="132" y="41">fixed design for 5 points, power 80 %</text>` + "\n" +
		s.String() + "</svg>\n"
}
