// Package power plans comparisons of two agents: how likely a number of seeds
// shows a difference, which difference it can show, when to stop early, and
// which competitions are worth running.
//
// # Model
//
// An attempt succeeds or fails in a figure of the leaderboard, such as any
// medal. Each agent has a rate of success for each competition; attempts are
// independent given the rates. A round is one seed: an attempt of each agent at
// each competition. The difference of two agents is the mean over competitions
// of the difference of their rates.
//
// Power is computed, not simulated: the joint distribution of the pairs in
// which only one agent succeeded is convolved pair by pair. It is exact for the
// model; the rates are the assumption.
//
// # Tests
//
// Fixed is the exact McNemar test after all rounds. Sequential is the
// confidence sequence of stat.Sequence, looked at after every round: stopping
// when it excludes 0 keeps the probability of a false positive at or below the
// level.
package power

import (
	"errors"
	"fmt"
	"math"

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
}

// MaxPairs limits what is computed; the work grows with the cube.
const MaxPairs = 600

// Round is the power after a number of rounds.
type Round struct {
	Seeds int `json:"seeds"`
	// Attempts are the attempts of both agents.
	Attempts int `json:"attempts"`
	// Fixed is the power of McNemar's test if this is the only look.
	Fixed float64 `json:"fixed_power"`
	// Sequential is the probability of having stopped with a result by now.
	Sequential float64 `json:"sequential_power"`
	// Expected are the attempts that stopping early leaves, on average.
	Expected float64 `json:"expected_attempts"`
}

// ErrTooLarge means that a plan has more pairs than MaxPairs.
var ErrTooLarge = errors.New("too many pairs")

// Plan returns the power after each of the first rounds.
func (t Test) Plan(rates []Rates, rounds int) ([]Round, error) {
	if err := check(rates, rounds); err != nil {
		return nil, err
	}
	d, open := newDistribution(), newDistribution()
	critical := mcNemar(t.Alpha, len(rates)*rounds)
	sequence := stat.Sequence{Confidence: 1 - t.Alpha}
	var plan []Round
	stopped, expected := 0.0, 0.0
	for r := 1; r <= rounds; r++ {
		expected += (1 - stopped) * float64(2*len(rates))
		for _, rate := range rates {
			d.pair(rate)
			open.pair(rate)
		}
		stopped += open.absorb(func(b, c int) bool {
			return sequence.Side(stat.Counts{Plus: b, Minus: c, Zero: r*len(rates) - b - c}) != 0
		})
		fixed := d.share(func(b, c int) bool { return min(b, c) <= critical[b+c] })
		plan = append(plan, Round{r, 2 * r * len(rates), fixed, stopped, expected})
	}
	return plan, nil
}

func check(rates []Rates, rounds int) error {
	if len(rates) == 0 || rounds < 1 {
		return errors.New("plan power: there are no competitions or no seeds")
	}
	if n := len(rates) * rounds; n > MaxPairs {
		return fmt.Errorf("plan power: %w: %d competitions with %d seeds are %d pairs, and at most %d are computed; ask for fewer seeds", ErrTooLarge, len(rates), rounds, n, MaxPairs)
	}
	for _, r := range rates {
		if !(r.First >= 0 && r.First <= 1 && r.Second >= 0 && r.Second <= 1) {
			return fmt.Errorf("plan power: %s: rates %v and %v; they must be between 0 and 1", r.Competition, r.First, r.Second)
		}
	}
	return nil
}

// mcNemar returns for every number of discordant pairs the largest smaller
// count at which the exact test rejects; -1 if there is none.
func mcNemar(alpha float64, most int) []int {
	critical := make([]int, most+1)
	for n := range critical {
		critical[n] = -1
		if n > 0 {
			critical[n] = critical[n-1]
		}
		for k := critical[n] + 1; 2*k <= n; k++ {
			if p, err := stat.McNemar(k, n-k); err != nil || p > alpha {
				break
			}
			critical[n] = k
		}
	}
	return critical
}

// distribution is the joint distribution of the numbers of pairs in which only the first
// and only the second agent succeeded.
type distribution struct{ p [][]float64 }

func newDistribution() *distribution { return &distribution{[][]float64{{1}}} }

// pair adds a pair of attempts.
func (d *distribution) pair(r Rates) {
	plus, minus := float64(r.First*(1-r.Second)), float64(r.Second*(1-r.First))
	zero := 1 - plus - minus
	n := len(d.p)
	next := make([][]float64, n+1)
	for b := range next {
		next[b] = make([]float64, n+1-b)
	}
	for b, row := range d.p {
		for c, p := range row {
			if p == 0 {
				continue
			}
			next[b][c] += float64(p * zero)
			next[b+1][c] += float64(p * plus)
			next[b][c+1] += float64(p * minus)
		}
	}
	d.p = next
}

// share is the probability of the counts that hold.
func (d *distribution) share(holds func(b, c int) bool) float64 {
	sum := 0.0
	for b, row := range d.p {
		for c, p := range row {
			if p > 0 && holds(b, c) {
				sum += p
			}
		}
	}
	return sum
}

// absorb takes out the counts that hold and returns their probability.
func (d *distribution) absorb(holds func(b, c int) bool) float64 {
	sum := 0.0
	for b, row := range d.p {
		for c, p := range row {
			if p > 1e-15 && holds(b, c) {
				sum, row[c] = sum+p, 0
			}
		}
	}
	return sum
}

// Detectable is the smallest difference, as a share, that the fixed test shows
// with a power after some rounds, if the second agent is as it is and the first
// is better at each competition by as much as its rate allows: the same step
// for all, cut off at 1. NaN if no difference has that power.
func (t Test) Detectable(rates []Rates, rounds int, power float64) (float64, error) {
	if err := check(rates, rounds); err != nil {
		return 0, err
	}
	better := func(step float64) []Rates {
		out := make([]Rates, len(rates))
		for i, r := range rates {
			out[i] = Rates{r.Competition, min(1, r.Second+step), r.Second}
		}
		return out
	}
	reaches := func(step float64) bool {
		d, critical := newDistribution(), mcNemar(t.Alpha, len(rates)*rounds)
		for range rounds {
			for _, r := range better(step) {
				d.pair(r)
			}
		}
		return d.share(func(b, c int) bool { return b > c && c <= critical[b+c] }) >= power
	}
	if !reaches(1) {
		return math.NaN(), nil
	}
	low, high := 0.0, 1.0
	for range 10 {
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
	sum := 0.0
	for _, r := range rates {
		sum += r.First - r.Second
	}
	return sum / float64(len(rates))
}
