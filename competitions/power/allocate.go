package power

import (
	"math"
	"slices"
)

// cautious is the largest share of a capital that one pair can cost against a difference of
// 0. Rounds have a fourth of the competitions, and later a sixteenth of the pairs so far.
const (
	cautious    = 0.8
	roundShare  = 4
	roundGrowth = 16
)

// plan draws the next round. It does not depend on how many pairs are allowed, so that the
// confidence holds if more are allowed after an answer.
func (s *Sequential) plan() {
	k := len(s.strata)
	p := s.predict()
	rates := slices.Repeat([]float64{1}, k) // a pair at each competition
	stake := p.stake(rates, s.design.Difference)
	if s.pairs > 0 {
		size := max(k/roundShare, s.pairs/roundGrowth, 1)
		rates, stake = p.allocate(float64(size), s.design.Difference)
	}
	r := round{}
	for side, sign := range [2]float64{1, -1} {
		limit := math.Inf(1)
		for c, rate := range rates {
			if loss := 1 + float64(sign*p.centre[c]); loss > 0 {
				limit = min(limit, cautious*rate/loss)
			}
		}
		for j, multiple := range multiples {
			r.stakes[side][j] = min(limit, multiple*stake)
		}
	}
	for c, rate := range rates {
		n := int(rate)
		if rate > float64(n) && s.chance.Uniform(0, 1) < rate-float64(n) {
			n++
		}
		first := s.strata[c].n
		for i := range n {
			r.draws = append(r.draws, drawn{stratum: c, seed: first + i, rate: rate, centre: p.centre[c]})
		}
		s.spent = s.spent || s.design.Seeds > 0 && first+n > s.design.Seeds
	}
	if s.spent = s.spent || s.pairs+len(r.draws) > s.design.Pairs; !s.spent {
		s.round = r
	}
}

// prediction is what the next pair of each competition is expected to show: its difference
// less the mean over competitions, and its variance.
type prediction struct{ centre, variance []float64 }

// alike is the number of competitions that the guess of strength counts as.
const alike = 4

// predict estimates the rates of each agent. A rate at a competition is drawn to the agent's
// mean as if that had been seen in strength more attempts: few if outcomes vary between
// competitions, many if they vary within.
func (s *Sequential) predict() prediction {
	k := len(s.strata)
	p := prediction{make([]float64, k), make([]float64, k)}
	for agent, sign := range [2]float64{1, -1} {
		mean, counted := 0.5, 1.0
		for _, t := range s.strata {
			if t.n > 0 {
				mean, counted = mean+t.sums[agent]/float64(t.n), counted+1
			}
		}
		mean /= counted
		total := mean * (1 - mean)
		within, counted := float64(total*alike)/2, float64(alike)
		for _, t := range s.strata {
			if t.n > 1 {
				rate := t.sums[agent] / float64(t.n)
				within, counted = within+rate*(1-rate)*float64(t.n)/float64(t.n-1), counted+1
			}
		}
		share := min(max(within/counted/total, 0.02), 0.98)
		strength := share / (1 - share)
		for c, t := range s.strata {
			rate := (float64(strength*mean) + t.sums[agent]) / (strength + float64(t.n))
			p.centre[c] += float64(sign * rate)
			p.variance[c] += float64(rate * (1 - rate))
		}
	}
	mean := sum(p.centre) / float64(k)
	for c := range p.centre {
		p.centre[c] -= mean
	}
	return p
}

// stake makes the capital grow fastest if the difference is true: by the mean less half
// the second moment.
func (p prediction) stake(rates []float64, difference float64) float64 {
	moment := 0.0
	for c, v := range p.variance {
		moment += v / rates[c]
	}
	return difference * float64(len(rates)) / moment
}

// allocate returns the expected pairs of a round by competition, and the stake. Rates follow
// the deviations, but a rate close to 0 forbids the stake. It tries stakes and takes the one
// with which the capital grows fastest.
func (p prediction) allocate(size, difference float64) (rates []float64, stake float64) {
	most := -1.0
	for try := size / float64(len(p.centre)); try > size/1e5; try *= 0.8 {
		r, ok := p.fill(size, try/cautious)
		if !ok {
			continue
		}
		best := p.stake(r, difference)
		if growth := try * (1 - try/(2*best)); growth > most {
			most, rates, stake = growth, r, min(best, try)
		}
	}
	return rates, stake
}

// fill divides size in proportion to deviations, with no rate below what the floor demands.
func (p prediction) fill(size, floor float64) (rates []float64, ok bool) {
	rates = make([]float64, len(p.centre))
	for {
		left, deviations := size, 0.0
		for c, v := range p.variance {
			if left -= rates[c]; rates[c] == 0 {
				deviations += math.Sqrt(v)
			}
		}
		if left < 0 {
			return nil, false
		}
		raised := false
		for c, v := range p.variance {
			if low := floor * (1 + math.Abs(p.centre[c])); rates[c] == 0 && math.Sqrt(v)*left/deviations < low {
				rates[c], raised = low, true
			}
		}
		if raised {
			continue
		}
		for c, v := range p.variance {
			if rates[c] == 0 {
				rates[c] = math.Sqrt(v) * left / deviations
			}
		}
		return rates, true
	}
}
