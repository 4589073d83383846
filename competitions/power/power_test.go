package power_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/power"
)

// simulations are how many comparisons are simulated: MLEFLOW_SIMULATIONS, or a few.
func simulations(t *testing.T, few int) int {
	if text := os.Getenv("MLEFLOW_SIMULATIONS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return few
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
		case "never":
			r.First, r.Second = 0.9, 0.1
		case "half":
			r.First, r.Second = 0.5, 0.5
		}
		rates[i] = r
	}
	return rates
}

// reports are attempts of an agent with rates, an attempt a seed.
func reports(rng *rand.Rand, rates []power.Rates, of func(power.Rates) float64, seeds int) (list []grading.Graded) {
	for _, r := range rates {
		for range seeds {
			list = append(list, grading.Graded{Report: grading.Report{CompetitionID: r.Competition, Medals: grading.Medals{GoldMedal: rng.Float64() < of(r)}}})
		}
	}
	return list
}

// TestPowerIsThatOfTheBoard wants the planned power within 4 standard errors of the share
// of comparisons in which a board's p is at most 0.05.
func TestPowerIsThatOfTheBoard(t *testing.T) {
	n := simulations(t, 400)
	for _, c := range []struct {
		name                string
		competitions, seeds int
	}{{"better", 22, 3}, {"worse", 22, 6}, {"specialist", 12, 5}, {"half", 10, 4}, {"better", 5, 8}, {"never", 5, 4}, {"never", 2, 1}} {
		rates := scenario(c.name, c.competitions)
		plan, err := power.Test{Alpha: 0.05, Simulations: n}.Plan(rates, c.seeds)
		if err != nil {
			t.Fatal(err)
		}
		rng, shown := rand.New(rand.NewPCG(uint64(c.competitions), uint64(c.seeds))), 0
		var ids []string
		for _, r := range rates {
			ids = append(ids, r.Competition)
		}
		for range n {
			first := reports(rng, rates, func(r power.Rates) float64 { return r.First }, c.seeds)
			second := reports(rng, rates, func(r power.Rates) float64 { return r.Second }, c.seeds)
			found, err := board.Compare(first, second, ids)
			if err != nil {
				t.Fatal(err)
			}
			d := found.Figures["gold_medal_percentage"]
			if *d.P <= 0.05 {
				shown++
			}
			if p, least := plan[c.seeds-1].SmallestP, float64(*d.SmallestP); least < p*(1-1e-12) {
				t.Errorf("%s: a comparison has a smallest p of %v, below the plan's %v", c.name, least, p)
			}
		}
		is, want := float64(shown)/float64(n), plan[c.seeds-1].Power
		t.Logf("%s, %d competitions, %d seeds: planned %.3f, the board shows it in %.3f", c.name, c.competitions, c.seeds, want, is)
		if math.Abs(is-want) > 4*math.Sqrt(2*max(want*(1-want), 0.01)/float64(n)) {
			t.Errorf("%s is not as planned", c.name)
		}
		if c.name == "half" && want > 0.05+3*math.Sqrt(0.05*0.95/float64(n)) {
			t.Errorf("equal agents are told apart in %.3f", want)
		}
	}
}

// TestExpected compares what an evaluate block is expected to do with decide.
func TestExpected(t *testing.T) {
	rates := power.Given(0.9, 0.1, 4)
	e, err := power.Expect(rates, power.Design{Difference: wanted, Confidence: confidence, Pairs: 400}, 100)
	if err != nil || e.Answered != 1 || e.Attempts < 8 || e.Attempts > 120 {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := power.Expect(rates, power.Design{Difference: wanted, Confidence: confidence, Pairs: 4}, 10); err != nil || e.Answered != 0 || e.Attempts != 8 {
		t.Errorf("one pair each: %+v, %v", e, err)
	}
}

// TestBudget wants the same rounds whatever is allowed, so that a budget may be raised.
func TestBudget(t *testing.T) {
	pairs := func(allowed int) (all []power.Pair) {
		s, err := power.NewSequential(power.Design{Competitions: []string{"a", "b", "c", "d", "e"}, Difference: wanted, Confidence: confidence, Pairs: allowed})
		if err != nil {
			t.Fatal(err)
		}
		for next := s.Next(allowed); len(next) > 0; next = s.Next(allowed) {
			for _, p := range next {
				all = append(all, p)
				if err := s.Add(power.Outcome{Pair: p, First: float64(p.Seed % 2), Second: float64(len(all) % 2)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		return all
	}
	most := pairs(300)
	for allowed := 5; allowed < 300; allowed += 7 {
		if few := pairs(allowed); len(few) > allowed || !slices.Equal(few, most[:len(few)]) {
			t.Fatalf("with %d pairs, other rounds are asked for: %v, not %v", allowed, few, most[:len(few)])
		}
	}
}

// TestShock shows what independence is needed for: a shock of 10 points up or down that an
// agent's attempts of a round have in common makes more than 5 % of the answers wrong.
func TestShock(t *testing.T) {
	n, wrong := simulations(t, 60), 0
	for i := range n {
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		ids := make([]string, 22)
		for c := range ids {
			ids[c] = fmt.Sprint(c)
		}
		s, err := power.NewSequential(power.Design{Competitions: ids, Difference: wanted, Confidence: confidence, Pairs: budget})
		if err != nil {
			t.Fatal(err)
		}
		for next := s.Next(budget); len(next) > 0; next = s.Next(budget) {
			first, second := 0.4+0.2*float64(rng.IntN(2)), 0.4+0.2*float64(rng.IntN(2))
			for _, p := range next {
				o := power.Outcome{Pair: p, First: float64(board.Count(rng.Float64() < first)), Second: float64(board.Count(rng.Float64() < second))}
				if err := s.Add(o); err != nil {
					t.Fatal(err)
				}
			}
		}
		wrong += board.Count(s.Answer().Decision == power.FirstBetter || s.Answer().Decision == power.SecondBetter)
	}
	t.Logf("wrong answers with a shock of 10 points a round: %d of %d", wrong, n)
	if wrong*20 <= n {
		t.Errorf("%d of %d answers are wrong, so that this test shows nothing", wrong, n)
	}
}

func TestDetectable(t *testing.T) {
	rates := power.Given(0.3, 0.3, 22)
	few, err := power.Test{Alpha: 0.05, Simulations: 1000}.Detectable(rates, 3, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	many, err := power.Test{Alpha: 0.05, Simulations: 1000}.Detectable(rates, 12, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	if !(many < few && few < 0.5 && many > 0.02) {
		t.Errorf("3 seeds show %.3f, 12 seeds %.3f", few, many)
	}
	plan, err := power.Test{Alpha: 0.05, Simulations: 1000}.Plan(power.Given(0.3+few, 0.3, 22), 3)
	if err != nil || math.Abs(plan[2].Power-0.8) > 0.03 {
		t.Errorf("the detectable difference has a power of %v, %v", plan, err)
	}
	if none, err := (power.Test{Alpha: 0.05, Simulations: 1000}).Detectable(power.Given(0.3, 0.3, 2), 1, 0.8); err != nil || !math.IsNaN(none) {
		t.Errorf("two pairs show %v, %v", none, err)
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
		if _, err := (power.Test{Alpha: 0.05, Simulations: 1000}).Plan(rates, 1); err == nil {
			t.Errorf("%s: it is planned", name)
		}
	}
	if _, err := (power.Test{Alpha: 0.05, Simulations: 1000}).Plan(power.Given(0.5, 0.5, 100), 100); !errors.Is(err, power.ErrTooLarge) {
		t.Errorf("10,000 pairs: %v", err)
	}
}
