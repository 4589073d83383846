// Package power plans comparisons of two agents: how likely a number of seeds
// shows a difference, which difference it can show, and how to decide one with
// as few attempts as the answer needs.
//
// # Model
//
// An attempt succeeds or fails in a figure of the leaderboard, such as any
// medal. Each agent has a rate of success for each competition; attempts are
// independent given the rates. A seed is an attempt of each agent at each
// competition. The difference of two agents is the mean over competitions of
// the difference of their rates.
//
// # Tests
//
// Test is that of a board's comparison, stat.Permutation, after all seeds:
// attempts are drawn by the model, and the share of draws in which the test
// finds a difference is its power. Sequential is that of an evaluate block.
package power

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/parallel"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/random"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// Rates are the rates of success of two agents at a competition.
type Rates struct {
	Competition string `json:"competition"`
	// First and Second are between 0 and 1.
	First  float64 `json:"first"`
	Second float64 `json:"second"`
}

// Test selects how the agents will be compared.
type Test struct {
	Alpha float64 // probability of a false positive
	// Simulations is the number of comparisons that are drawn. The standard error
	// of a power p is the square root of p(1-p)/Simulations. The same number gives
	// the same power everywhere.
	Simulations int
}

// MaxPairs limits what is computed.
const MaxPairs = 1000

// Round is the power after a number of seeds.
type Round struct {
	Seeds int `json:"seeds"`
	// Attempts are the attempts of both agents.
	Attempts int `json:"attempts"`
	// Power is that of the test if this is the only look.
	Power float64 `json:"power"`
	// SmallestP is the smallest p that so many attempts can have, if one agent
	// always succeeds and the other never does.
	SmallestP float64 `json:"smallest_p"`
}

// ErrTooLarge means that a plan has more pairs than MaxPairs.
var ErrTooLarge = errors.New("too many pairs")

// Plan returns the power after each of the first seeds.
func (t Test) Plan(rates []Rates, seeds int) ([]Round, error) {
	if err := check(rates, seeds); err != nil {
		return nil, err
	}
	found := t.found(rates, seeds, 1)
	plan := make([]Round, seeds)
	for i := range plan {
		n := i + 1
		clear := slices.Repeat([]stat.Successes{{First: n, FirstRuns: n, SecondRuns: n}}, len(rates))
		_, smallest := stat.Permutation(clear)
		plan[i] = Round{n, 2 * n * len(rates), found[i], smallest}
	}
	return plan, nil
}

func check(rates []Rates, seeds int) error {
	if len(rates) == 0 || seeds < 1 {
		return errors.New("plan power: there are no competitions or no seeds")
	}
	if n := len(rates) * seeds; n > MaxPairs {
		return fmt.Errorf("plan power: %w: %d competitions with %d seeds are %d pairs, and at most %d are computed; ask for fewer seeds", ErrTooLarge, len(rates), seeds, n, MaxPairs)
	}
	for _, r := range rates {
		if !(r.First >= 0 && r.First <= 1 && r.Second >= 0 && r.Second <= 1) {
			return fmt.Errorf("plan power: %s: rates %v and %v; they must be between 0 and 1", r.Competition, r.First, r.Second)
		}
	}
	return nil
}

// found returns the share of comparisons in which the test finds a difference,
// for each number of seeds from a first one on; it is 0 below.
func (t Test) found(rates []Rates, seeds, from int) []float64 {
	counts := make([][]int, runtime.GOMAXPROCS(0))
	parallel.Do(len(counts), len(counts), func(w int) {
		counts[w] = make([]int, seeds)
		for i := w; i < t.Simulations; i += len(counts) {
			t.compare(random.NewGenerator(uint64(i)), rates, from, counts[w])
		}
	})
	shares := make([]float64, seeds)
	for i := range shares {
		n := 0
		for _, c := range counts {
			n += c[i]
		}
		shares[i] = float64(n) / float64(t.Simulations)
	}
	return shares
}

// compare draws one comparison, seed by seed, and counts the numbers of seeds
// after which the test finds a difference.
func (t Test) compare(chance *random.Generator, rates []Rates, from int, counts []int) {
	runs := make([]stat.Successes, len(rates))
	for i := range counts {
		for c, r := range rates {
			runs[c].FirstRuns, runs[c].SecondRuns = i+1, i+1
			runs[c].First += draw(chance, r.First)
			runs[c].Second += draw(chance, r.Second)
		}
		if i+1 < from {
			continue
		}
		if p, _ := stat.Permutation(runs); p <= t.Alpha {
			counts[i]++
		}
	}
}

// draw returns 1 at a rate, else 0.
func draw(chance *random.Generator, rate float64) int {
	if chance.Uniform(0, 1) < rate {
		return 1
	}
	return 0
}

// Detectable returns the smallest difference that the test shows with a power
// after some seeds: the first agent's rates are raised above the second's by the
// same step, as far as 1 allows. It is NaN if even the largest difference is not
// shown.
func (t Test) Detectable(rates []Rates, seeds int, power float64) (float64, error) {
	if err := check(rates, seeds); err != nil {
		return 0, err
	}
	better := func(step float64) []Rates {
		return lists.Of(rates, func(r Rates) Rates { return Rates{r.Competition, min(1, r.Second+step), r.Second} })
	}
	reaches := func(step float64) bool { return t.found(better(step), seeds, seeds)[seeds-1] >= power }
	if !reaches(1) {
		return math.NaN(), nil
	}
	low, high := 0.0, 1.0
	for range 8 {
		if middle := (low + high) / 2; reaches(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return Difference(better(high)), nil
}

// Difference is the mean difference of the rates, the first less the second.
func Difference(rates []Rates) float64 {
	return sum(lists.Of(rates, func(r Rates) float64 { return r.First - r.Second })) / float64(len(rates))
}

// Expected is what an evaluate block is expected to do.
type Expected struct {
	// Answered is the probability of an answer before the pairs of the design are
	// spent, and Attempts the mean number of attempts of both agents.
	Answered float64 `json:"answered"`
	Attempts float64 `json:"attempts"`
}

// Expect draws evaluations of a design for agents with rates, which has the
// competitions of the rates.
func Expect(rates []Rates, d Design, simulations int) (Expected, error) {
	of := map[string]Rates{}
	d.Competitions = nil
	for _, r := range rates {
		of[r.Competition], d.Competitions = r, append(d.Competitions, r.Competition)
	}
	answered, attempts := 0, 0
	for i := range simulations {
		s, err := NewSequential(d)
		if err != nil {
			return Expected{}, err
		}
		chance := random.NewGenerator(uint64(i))
		for next := s.Next(d.Pairs); len(next) > 0; next = s.Next(d.Pairs) {
			for _, pair := range next {
				r := of[pair.Competition]
				if err := s.Add(Outcome{pair, float64(draw(chance, r.First)), float64(draw(chance, r.Second))}); err != nil {
					return Expected{}, err
				}
			}
		}
		if s.answer.Decision != Undecided {
			answered++
		}
		attempts += 2 * s.answer.Pairs
	}
	return Expected{float64(answered) / float64(simulations), float64(attempts) / float64(simulations)}, nil
}

// prior is the number of attempts that the agent's mean counts as in its rate at one
// competition. Without it three attempts give rates of 0 and 1, as if results did not
// vary.
const prior = 2

// FromReports estimates rates from the reports of two agents at the competitions
// that both have: the share of successes at the competition, drawn towards the
// agent's mean as if that had been seen in two more attempts. Every report counts; see
// board.Counted.
func FromReports(first, second []grading.Graded, figure func(board.Flags) (success, counts bool)) ([]Rates, error) {
	a, b := tally(first, figure), tally(second, figure)
	ids := lists.Where(slices.Sorted(maps.Keys(a)), func(id string) bool { return b[id].n > 0 })
	if len(ids) == 0 {
		return nil, fmt.Errorf("plan power: no competition has a report of both agents")
	}
	meanA, meanB := mean(a, ids), mean(b, ids)
	return lists.Of(ids, func(id string) Rates { return Rates{id, a[id].rate(meanA), b[id].rate(meanB)} }), nil
}

// Given are equal rates at a number of competitions. Rates with the same means that
// differ between competitions give another power: more where outcomes vary less, and
// less where the agents are good at different things.
func Given(first, second float64, competitions int) []Rates {
	rates := make([]Rates, competitions)
	for i := range rates {
		rates[i] = Rates{fmt.Sprintf("competition %d", i+1), first, second}
	}
	return rates
}

type successes struct{ of, n int }

func (s successes) rate(mean float64) float64 {
	return (float64(s.of) + float64(prior*mean)) / float64(s.n+prior)
}

func tally(reports []grading.Graded, figure func(board.Flags) (success, counts bool)) map[string]successes {
	out := map[string]successes{}
	for _, r := range reports {
		success, counts := figure(board.FlagsOf(r.Report))
		if !counts {
			continue
		}
		s := out[r.CompetitionID]
		s.n++
		if success {
			s.of++
		}
		out[r.CompetitionID] = s
	}
	return out
}

// mean is the mean over competitions of the share of successes.
func mean(of map[string]successes, ids []string) float64 {
	return sum(lists.Of(ids, func(id string) float64 { return float64(of[id].of) / float64(of[id].n) })) / float64(len(ids))
}
