package power

import (
	"errors"
	"fmt"
	"math"

	"github.com/mleflow/mleflow/plugins/numeric/libm"
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

// The first three are errors with at most 1 - Confidence altogether.
const (
	FirstBetter  Decision = "first better"
	SecondBetter Decision = "second better"
	NoDifference Decision = "no difference" // none as large as Design.Difference
	Undecided    Decision = "undecided"
)

// Answer is what is known of the difference, the first agent less the second.
type Answer struct {
	Decision Decision `json:"decision"`
	Low      float64  `json:"low"`
	High     float64  `json:"high"`
	Estimate float64  `json:"estimate"`
	Pairs    int      `json:"pairs"`
}

// Sequential chooses pairs until the comparison is decided.
type Sequential struct {
	design  Design
	open    map[Pair]bool
	queue   []Pair
	rounds  int
	diffs   []float64
	pending map[Pair]float64
	answer  Answer
}

// NewSequential starts a comparison.
func NewSequential(d Design) (*Sequential, error) {
	switch {
	case len(d.Competitions) == 0:
		return nil, errors.New("compare sequentially: there are no competitions")
	case !(d.Difference > 0 && d.Difference < 1):
		return nil, fmt.Errorf("compare sequentially: difference %v; it must be between 0 and 1", d.Difference)
	case !(d.Confidence > 0 && d.Confidence < 1):
		return nil, fmt.Errorf("compare sequentially: confidence %v; it must be between 0 and 1", d.Confidence)
	}
	return &Sequential{design: d, open: map[Pair]bool{}, pending: map[Pair]float64{}, answer: Answer{Decision: Undecided, Low: -1, High: 1}}, nil
}

// Next returns the next pairs to run, at most most of them. It is empty when the
// comparison is decided, the budget is spent, or outcomes must be added first.
func (s *Sequential) Next(most int) []Pair {
	if s.answer.Decision != Undecided {
		return nil
	}
	if len(s.queue) == 0 && len(s.open) == 0 && (s.design.Seeds == 0 || s.rounds < s.design.Seeds) && (s.rounds+1)*len(s.design.Competitions) <= s.design.Pairs {
		for _, id := range s.design.Competitions {
			s.queue = append(s.queue, Pair{id, s.rounds})
		}
		s.rounds++
	}
	next := s.queue[:min(most, len(s.queue))]
	s.queue = s.queue[len(next):]
	for _, p := range next {
		s.open[p] = true
	}
	return next
}

// Add takes the outcome of a pair that Next returned.
func (s *Sequential) Add(o Outcome) error {
	if !s.open[o.Pair] {
		return fmt.Errorf("compare sequentially: seed %d of %s was not asked for", o.Seed, o.Competition)
	}
	if !(o.First >= 0 && o.First <= 1 && o.Second >= 0 && o.Second <= 1) {
		return fmt.Errorf("compare sequentially: seed %d of %s: outcomes %v and %v; they must be between 0 and 1", o.Seed, o.Competition, o.First, o.Second)
	}
	delete(s.open, o.Pair)
	s.pending[o.Pair] = o.First - o.Second
	if len(s.open)+len(s.queue) == 0 {
		s.look()
	}
	return nil
}

// Answer is what is known so far.
func (s *Sequential) Answer() Answer { return s.answer }

func (s *Sequential) look() {
	for _, id := range s.design.Competitions {
		s.diffs = append(s.diffs, s.pending[Pair{id, s.rounds - 1}])
	}
	s.pending = map[Pair]float64{}
	a := &s.answer
	a.Pairs, a.Estimate = len(s.diffs), 0
	for _, d := range s.diffs {
		a.Estimate += d / float64(len(s.diffs))
	}
	a.Low, a.High = s.end(1), -s.end(-1)
	switch {
	case a.Low > 0:
		a.Decision = FirstBetter
	case a.High < 0:
		a.Decision = SecondBetter
	case a.Low > -s.design.Difference && a.High < s.design.Difference:
		a.Decision = NoDifference
	}
}

// end is the lower end of the interval of the differences times side.
func (s *Sequential) end(side float64) float64 {
	low, high := -1.0, 1.0
	for range 30 {
		if middle := (low + high) / 2; s.rejects(middle, side) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

func (s *Sequential) rejects(m, side float64) bool {
	const bets = 32
	sum := 0.0
	for i := range bets {
		stake, capital := (float64(i)+0.5)/(2*bets), 0.0
		for _, d := range s.diffs {
			capital += libm.Log(1 + float64(stake*(side*d-m)))
		}
		sum += math.Exp(capital) / bets
	}
	return sum >= 2/(1-s.design.Confidence)
}
