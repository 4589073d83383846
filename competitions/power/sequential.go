package power

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/plugins/numeric/random"
)

// Pair is an attempt of each agent at a competition.
type Pair struct {
	Competition string `json:"competition"`
	// Seed counts the pairs of the competition from 0.
	Seed int `json:"seed"`
}

// Outcome is the figure of both attempts of a pair, between 0 and 1.
type Outcome struct {
	Pair
	First  float64 `json:"first"`
	Second float64 `json:"second"`
}

// Design says which comparison is decided sequentially.
type Design struct {
	Competitions []string `json:"competitions"`
	// Difference is the smallest one that matters, as a share.
	Difference float64 `json:"difference"`
	Confidence float64 `json:"confidence"`
	// Pairs limits the pairs that are run.
	Pairs int `json:"pairs"`
	// Seeds limits the pairs of a competition; 0 does not.
	Seeds int `json:"seeds,omitempty"`
}

// Decision is the result of a sequential comparison.
type Decision string

// The decisions. With a probability of at most 1 - Confidence one of the first three is
// reached that is wrong, whatever the rates of the agents are, if the pairs of a round are
// independent of each other given the rounds before. What shifts all attempts of a round
// in one direction, such as a provider that was slow on that day, makes more of them
// wrong.
const (
	FirstBetter  Decision = "first better"
	SecondBetter Decision = "second better"
	NoDifference Decision = "no difference" // none as large as Design.Difference
	Undecided    Decision = "undecided"
)

// Answer is what is known of the difference, the first agent less the second.
type Answer struct {
	Decision Decision `json:"decision"`
	// Low and High hold the difference with a probability of Confidence, at all looks
	// together. That is the design's. With NoDifference each of them holds with the
	// design's by itself, so that both do with less.
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
	// Estimate is the mean over competitions of the mean difference of their pairs.
	Estimate float64 `json:"estimate"`
	Pairs    int     `json:"pairs"`
}

// Sequential chooses pairs until the comparison is decided.
//
// # Rounds
//
// The first round is a pair at each competition. Later rounds expect rate[c] pairs at
// competition c, by chance where that is no integer: more where outcomes vary, never 0.
// Capital counts at the ends of rounds.
//
// # Validity
//
// Gamblers bet against a claim: that the mean difference over competitions is at most m.
// A pair with the difference x multiplies a capital by
//
//	1 + stake/rate[c] * (x - centre[c] - m)
//
// where rate, stake and centre depend on earlier rounds only and the centres sum to 0. If the
// competition's mean difference is d[c], a round multiplies the capital by at most
// exp(stake * (d[c] - centre[c] - m)) in expectation at each competition, because 1 + z is
// at most exp(z). The product over competitions is at most 1 if the claim is true. By
// Ville's inequality the capital then ever reaches 1/a with a probability of at most a. The
// rates of both agents and the predictions may be anything.
//
// One agent is better once the capital against the opposite reaches 2/(1 - Confidence).
// There is no difference once the capitals against a difference of at least Difference and
// of at most -Difference both reach 1/(1 - Confidence): only one of the two claims can be
// true. A capital against a larger difference is never below that against a smaller one, so
// these errors do not add up.
//
// # Cost
//
// A prediction makes centre[c] close to d[c], so that a competition at which the agents
// always get the same costs little more than its first pair. The rates follow the expected
// deviations of outcomes, as in Neyman's allocation.
//
// Sources: Waudby-Smith and Ramdas, Estimating means of bounded random variables by
// betting, JRSS B 86 (2024), arXiv 2010.09686; Spertus, Sridhar and Stark, Sequential
// stratified inference for the mean (2024), arXiv 2409.06680; Zrnic and Candès, Active
// statistical inference, ICML (2024), arXiv 2403.03208; Ville, Étude critique de la notion
// de collectif (1939).
type Sequential struct {
	design  Design
	strata  []stratum
	chance  *random.Generator // PCG64 from seed 0: the same outcomes give the same pairs
	round   round
	past    []round
	pairs   int
	capital [len(claims)][len(multiples)]float64
	answer  Answer
	spent   bool
}

// claims are what the gamblers bet against: that the difference, times side, is at most 0
// or at most -Difference.
var claims = [...]struct{ side, m float64 }{{1, 0}, {-1, 0}, {1, -1}, {-1, -1}}

// The gamblers of a claim: their stakes, as multiples of the one that suits a true
// difference of Design.Difference, and the shares of the capital they start with.
var (
	multiples = [...]float64{0.5, 1, 2, 4, 8}
	shares    = [len(multiples)]float64{0.1, 0.6, 0.15, 0.1, 0.05}
)

// stratum is what is known of a competition: sums of outcomes over its pairs.
type stratum struct {
	n    int
	sums [2]float64
}

// round is a set of pairs. Its stakes are by side, 1 and -1.
type round struct {
	draws        []drawn
	stakes       [2][len(multiples)]float64
	asked, added int
}

// drawn is a pair of a round.
type drawn struct {
	stratum, seed int
	rate, centre  float64
	known         bool
	outcomes      [2]float64
}

// factor is what a unit of capital becomes, see Sequential.
func (d *drawn) factor(stake, side, m float64) float64 {
	x := d.outcomes[0] - d.outcomes[1] - d.centre
	return 1 + float64(stake/d.rate*(float64(side*x)-m))
}

// NewSequential starts a comparison.
func NewSequential(d Design) (*Sequential, error) {
	k := len(d.Competitions)
	switch {
	case k == 0:
		return nil, errors.New("compare sequentially: there are no competitions")
	case !(d.Difference > 0 && d.Difference < 1):
		return nil, fmt.Errorf("compare sequentially: the difference is %v; it must be between 0 and 1", d.Difference)
	case !(d.Confidence > 0 && d.Confidence < 1):
		return nil, fmt.Errorf("compare sequentially: the confidence is %v; it must be between 0 and 1", d.Confidence)
	case d.Pairs < k:
		return nil, fmt.Errorf("compare sequentially: %d pairs are fewer than one at each of %d competitions; allow %d attempts or more", d.Pairs, k, 2*k)
	}
	if ids := slices.Sorted(slices.Values(d.Competitions)); len(slices.Compact(ids)) < k {
		return nil, errors.New("compare sequentially: a competition is listed twice; list each once")
	}
	s := &Sequential{design: d, strata: make([]stratum, k), chance: random.NewGenerator(0)}
	s.answer = Answer{Decision: Undecided}
	for i := range s.capital {
		s.capital[i] = shares
	}
	return s, nil
}

// Next returns the next pairs to run, at most most of them. It is empty when the
// comparison is decided, the budget is spent, or outcomes must be added first.
func (s *Sequential) Next(most int) []Pair {
	for !s.spent && s.answer.Decision == Undecided && s.round.added == len(s.round.draws) {
		s.plan()
	}
	if s.spent || s.answer.Decision != Undecided {
		return nil
	}
	var next []Pair
	for len(next) < most && s.round.asked < len(s.round.draws) {
		d := s.round.draws[s.round.asked]
		next = append(next, Pair{s.design.Competitions[d.stratum], d.seed})
		s.round.asked++
	}
	return next
}

// Add takes the outcome of a pair that Next returned, in any order.
func (s *Sequential) Add(o Outcome) error {
	if !(o.First >= 0 && o.First <= 1 && o.Second >= 0 && o.Second <= 1) {
		return fmt.Errorf("compare sequentially: seed %d of %s has the outcomes %v and %v; they must be between 0 and 1", o.Seed, o.Competition, o.First, o.Second)
	}
	asked := s.round.draws[:s.round.asked]
	i := slices.IndexFunc(asked, func(d drawn) bool {
		return !d.known && d.seed == o.Seed && s.design.Competitions[d.stratum] == o.Competition
	})
	if i < 0 {
		return fmt.Errorf("compare sequentially: seed %d of %s was not asked for or is known already; add pairs that Next returned, once", o.Seed, o.Competition)
	}
	asked[i].known, asked[i].outcomes = true, [2]float64{o.First, o.Second}
	if s.round.added++; s.round.added == len(s.round.draws) {
		s.look()
	}
	return nil
}

// look counts a whole round.
func (s *Sequential) look() {
	s.past = append(s.past, s.round)
	s.pairs += len(s.round.draws)
	for i := range s.round.draws {
		d := &s.round.draws[i]
		t := &s.strata[d.stratum]
		t.n, t.sums[0], t.sums[1] = t.n+1, t.sums[0]+d.outcomes[0], t.sums[1]+d.outcomes[1]
	}
	var total [len(claims)]float64
	for i, c := range claims {
		s.round.multiply(&s.capital[i], c.side, float64(c.m*s.design.Difference))
		total[i] = sum(s.capital[i][:])
	}
	enough := 1 / (1 - s.design.Confidence)
	switch {
	case total[0] >= 2*enough:
		s.answer.Decision = FirstBetter
	case total[1] >= 2*enough:
		s.answer.Decision = SecondBetter
	case total[2] >= enough && total[3] >= enough:
		s.answer.Decision = NoDifference
	}
	s.answer.Pairs, s.answer.Estimate = s.pairs, 0
	for _, t := range s.strata {
		s.answer.Estimate += (t.sums[0] - t.sums[1]) / float64(t.n*len(s.strata))
	}
}

// multiply updates the capitals of gamblers who bet against at most m.
func (r *round) multiply(capital *[len(multiples)]float64, side, m float64) {
	stakes := &r.stakes[0]
	if side < 0 {
		stakes = &r.stakes[1]
	}
	for j := range capital {
		for i := range r.draws {
			capital[j] *= r.draws[i].factor(stakes[j], side, m)
		}
	}
}

// Answer is what is known after the last whole round.
func (s *Sequential) Answer() Answer {
	a := s.answer
	a.Low, a.High, a.Confidence = s.end(1), -s.end(-1), s.design.Confidence
	if a.Decision == NoDifference {
		a.Confidence = max(0, float64(2*a.Confidence)-1)
	}
	return a
}

// end is the lower end of the interval of the difference times side. Capitals fall with m up
// to where one could become negative; there the interval ends, although it might be shorter.
func (s *Sequential) end(side float64) float64 {
	enough := 2 / (1 - s.design.Confidence)
	if s.answer.Decision == NoDifference {
		enough /= 2
	}
	low, high := -1.0, 1.0
	for _, r := range s.past {
		stake := r.stakes[(1-int(side))/2][len(multiples)-1]
		for _, d := range r.draws {
			high = min(high, d.rate/stake-1-float64(side*d.centre))
		}
	}
	for range 40 {
		m := (low + high) / 2
		capital := shares
		for i := range s.past {
			s.past[i].multiply(&capital, side, m)
		}
		if sum(capital[:]) >= enough {
			low = m
		} else {
			high = m
		}
	}
	return low
}

func sum(of []float64) float64 {
	total := 0.0
	for _, v := range of {
		total += v
	}
	return total
}
