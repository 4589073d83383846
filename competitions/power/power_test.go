package power_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/power"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// simulations are how many comparisons are simulated: MLEFLOW_SIMULATIONS, or
// enough for a standard error of 0.8 points.
func simulations(t *testing.T) int {
	if text := os.Getenv("MLEFLOW_SIMULATIONS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 4000
}

// scenario are the true rates of two agents.
func scenario(name string, n int) []power.Rates {
	rates := make([]power.Rates, n)
	for i := range rates {
		hard := float64(i) / float64(n)
		r := power.Rates{Competition: fmt.Sprint(i), First: 0.9 * hard, Second: 0.9 * hard}
		switch name {
		case "better":
			r.First = min(1, r.First+0.2)
		case "worse":
			r.First = max(0, r.First-0.25)
		case "specialist": // much better at a quarter
			if i%4 == 0 {
				r.First = 0.95
			}
		case "exchanged": // no difference on average, but at each competition
			r.First, r.Second = 0.3, 0.7
			if i%2 == 0 {
				r.First, r.Second = 0.7, 0.3
			}
		case "half":
			r.First, r.Second = 0.5, 0.5
		}
		rates[i] = r
	}
	return rates
}

// looks remembers what the confidence sequence says of counts.
type looks struct {
	sides     map[stat.Counts]int
	intervals map[stat.Counts]stat.Interval
}

var memory = looks{map[stat.Counts]int{}, map[stat.Counts]stat.Interval{}}

var sequence = stat.Sequence{Confidence: 0.95}

func (l looks) side(c stat.Counts) int {
	s, ok := l.sides[c]
	if !ok {
		s = sequence.Side(c)
		l.sides[c] = s
	}
	return s
}

func (l looks) interval(c stat.Counts) stat.Interval {
	i, ok := l.intervals[c]
	if !ok {
		i = stat.Interval{Lower: lowest(c), Upper: -lowest(stat.Counts{Plus: c.Minus, Minus: c.Plus, Zero: c.Zero})}
		l.intervals[c] = i
	}
	return i
}

// lowest is the lower end of the interval that belongs to sequence: it bisects for
// the lowest mean against which the capital stays small.
func lowest(c stat.Counts) float64 {
	rejects := func(m float64) bool {
		capital := 0.0
		for i := range 32 {
			stake := (float64(i) + 0.5) / 64
			capital += math.Exp(float64(c.Plus)*math.Log(1+stake*(1-m))+float64(c.Minus)*math.Log(1-stake*(1+m))+float64(c.Zero)*math.Log(1-stake*m)) / 32
		}
		return capital >= 2/(1-sequence.Confidence)
	}
	low, high := -1.0, 1.0
	for range 60 {
		if middle := (low + high) / 2; rejects(low) && rejects(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// outcome is what came of one simulated comparison.
type outcome struct {
	fixed   bool
	stopped int  // round; 0 if never
	covered bool // at every look
}

// simulate draws attempts and compares them with the tests of the board,
// without anything of the package under test.
func simulate(rng *rand.Rand, rates []power.Rates, rounds int, intervals bool) outcome {
	counts, o := stat.Counts{}, outcome{covered: true}
	truth := power.Difference(rates)
	for round := 1; round <= rounds; round++ {
		for _, r := range rates {
			first, second := rng.Float64() < r.First, rng.Float64() < r.Second
			switch {
			case first && !second:
				counts.Plus++
			case second && !first:
				counts.Minus++
			default:
				counts.Zero++
			}
		}
		if o.stopped == 0 && memory.side(counts) != 0 {
			o.stopped = round
		}
		if intervals {
			if i := memory.interval(counts); truth < i.Lower || truth > i.Upper {
				o.covered = false
			}
		}
	}
	p, err := stat.McNemar(counts.Plus, counts.Minus)
	o.fixed = err == nil && p <= 0.05
	return o
}

// TestPowerEqualsSimulation wants the power within 2 points of what is
// simulated, for the fixed test, for stopping early, and the attempts that
// stopping early takes within 2 %.
func TestPowerEqualsSimulation(t *testing.T) {
	n := simulations(t)
	for _, c := range []struct {
		name         string
		competitions int
		rounds       int
	}{{"better", 22, 3}, {"better", 22, 8}, {"worse", 22, 6}, {"specialist", 40, 5}, {"half", 10, 6}, {"better", 5, 20}} {
		rates := scenario(c.name, c.competitions)
		plan, err := power.Test{Alpha: 0.05}.Plan(rates, c.rounds)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(uint64(c.competitions), uint64(c.rounds)))
		fixed, stopped, attempts := 0, 0, 0
		for range n {
			o := simulate(rng, rates, c.rounds, false)
			if o.fixed {
				fixed++
			}
			rounds := c.rounds
			if o.stopped > 0 {
				stopped++
				rounds = o.stopped
			}
			attempts += 2 * rounds * c.competitions
		}
		last, share := plan[c.rounds-1], func(k int) float64 { return float64(k) / float64(n) }
		t.Logf("%s, %d competitions, %d seeds: fixed %.3f, simulated %.3f; sequential %.3f, simulated %.3f; attempts %.1f, simulated %.1f",
			c.name, c.competitions, c.rounds, last.Fixed, share(fixed), last.Sequential, share(stopped), last.Expected, share(attempts))
		if math.Abs(last.Fixed-share(fixed)) > 0.02 || math.Abs(last.Sequential-share(stopped)) > 0.02 || math.Abs(last.Expected/share(attempts)-1) > 0.02 {
			t.Errorf("%s is not as simulated", c.name)
		}
	}
}

// TestFalsePositives stops as soon as there is a result. Agents that do not
// differ on average may be told apart in 5 % of the comparisons, and the
// intervals of all looks must hold the truth in 95 %. Looking at McNemar's test
// after every round instead must break this, or the test shows nothing.
func TestFalsePositives(t *testing.T) {
	n := simulations(t)
	for _, name := range []string{"equal", "half", "exchanged", "better"} {
		rates, stopped, missed := scenario(name, 11), 0, 0
		rng := rand.New(rand.NewPCG(7, 7))
		for i := range n {
			intervals := i < n/6
			o := simulate(rng, rates, 15, intervals)
			if o.stopped > 0 {
				stopped++
			}
			if !o.covered {
				missed++
			}
		}
		t.Logf("%s: stopped with a result in %.2f %%; intervals missed the truth in %.2f %%", name, 100*float64(stopped)/float64(n), 600*float64(missed)/float64(n))
		if name != "better" && float64(stopped) > 0.05*float64(n) {
			t.Errorf("%s: %d false positives in %d", name, stopped, n)
		}
		if float64(missed) > 0.05*float64(n/6) {
			t.Errorf("%s: the intervals miss the truth in %d of %d", name, missed, n/6)
		}
	}
	peeking, rng := 0, rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		b, c := 0, 0
		for range 30 {
			for range 11 {
				x, y := rng.IntN(2), rng.IntN(2)
				b, c = b+x*(1-y), c+y*(1-x)
			}
			if p, _ := stat.McNemar(b, c); p <= 0.05 {
				peeking++
				break
			}
		}
	}
	if peeking < 80 {
		t.Errorf("stopping by McNemar's test gives %d false positives in 1000, so this test shows nothing", peeking)
	}
}

func TestDetectable(t *testing.T) {
	rates := power.Given(0.3, 0.3, 22)
	few, err := power.Test{Alpha: 0.05}.Detectable(rates, 3, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	many, err := power.Test{Alpha: 0.05}.Detectable(rates, 12, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	if !(many < few && few < 0.5 && many > 0.02) {
		t.Errorf("3 seeds show %.3f, 12 seeds %.3f", few, many)
	}
	plan, err := power.Test{Alpha: 0.05}.Plan(power.Given(0.3+few, 0.3, 22), 3)
	if err != nil || math.Abs(plan[2].Fixed-0.8) > 0.02 {
		t.Errorf("the detectable difference has a power of %v, %v", plan, err)
	}
	if none, err := (power.Test{Alpha: 0.05}).Detectable(power.Given(0.3, 0.3, 2), 1, 0.8); err != nil || !math.IsNaN(none) {
		t.Errorf("two pairs show %v, %v", none, err)
	}
}

func TestCheapestKeepsTheRanking(t *testing.T) {
	rates := scenario("specialist", 20)
	s, ok := power.Cheapest(rates, 3, 0.95)
	if !ok || len(s.Competitions) >= 20 || s.Keeps < 0.95 || s.Attempts != 6*len(s.Competitions) {
		t.Fatalf("%+v, %v", s, ok)
	}
	chosen := map[string]bool{}
	for _, id := range s.Competitions {
		chosen[id] = true
	}
	var kept []power.Rates
	for _, r := range rates {
		if chosen[r.Competition] {
			kept = append(kept, r)
		}
	}
	rng, ahead := rand.New(rand.NewPCG(3, 3)), 0
	for range 4000 {
		lead := 0
		for range 3 {
			for _, r := range kept {
				if rng.Float64() < r.First {
					lead++
				}
				if rng.Float64() < r.Second {
					lead--
				}
			}
		}
		if lead > 0 {
			ahead++
		}
	}
	if float64(ahead) < 0.93*4000 {
		t.Errorf("the ranking is kept in %d of 4000; the subset says %.3f", ahead, s.Keeps)
	}
	if _, ok := power.Cheapest(scenario("half", 4), 1, 0.95); ok {
		t.Error("agents that do not differ have a ranking")
	}
}

func TestRatesFromReports(t *testing.T) {
	report := func(id string, medal bool) grading.Graded {
		return grading.Graded{Report: grading.Report{CompetitionID: id, Medals: grading.Medals{GoldMedal: medal}}}
	}
	first := []grading.Graded{report("a", true), report("a", true), report("b", false), report("b", true), report("only", true)}
	second := []grading.Graded{report("a", false), report("a", false), report("b", false), report("b", false)}
	gold := func(f board.Flags) (success, counts bool) { return f.GoldMedal, !f.Unranked }
	got, err := power.FromReports(first, second, gold)
	want := []power.Rates{{Competition: "a", First: 3.5 / 4, Second: 0}, {Competition: "b", First: 2.5 / 4, Second: 0}}
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := power.FromReports(first[4:], second, gold); err == nil {
		t.Error("agents without a common competition are compared")
	}
}

func TestRefuses(t *testing.T) {
	for name, rates := range map[string][]power.Rates{"none": {}, "above 1": power.Given(1.5, 0, 2), "not a number": power.Given(math.NaN(), 0, 2)} {
		if _, err := (power.Test{Alpha: 0.05}).Plan(rates, 1); err == nil {
			t.Errorf("%s: it is planned", name)
		}
	}
	if _, err := (power.Test{Alpha: 0.05}).Plan(power.Given(0.5, 0.5, 100), 100); !errors.Is(err, power.ErrTooLarge) {
		t.Errorf("10,000 pairs: %v", err)
	}
}
