package stat

import (
	"math"
	"slices"
	"strconv"
)

// Successes are the runs of two agents at one competition, and how many of them
// succeeded.
type Successes struct {
	First, FirstRuns   int
	Second, SecondRuns int
}

// grid is the largest denominator of shares that Permutation adds up exactly: 5040,
// which numbers of runs up to 10 divide, or less with more than 23 competitions, so that
// the work stays bounded.
func grid(competitions int) int {
	for _, n := range []int{5040, 2520, 1260, 840, 420} {
		if n*competitions <= 120_000 {
			return n
		}
	}
	return 60
}

// Permutation is the exact two-sided permutation test of two agents. Under the
// null hypothesis the runs at a competition are exchangeable between them: p is
// the share of all ways to give the runs of each competition to the agents in
// which the mean over competitions of the difference of their shares of
// successes is at least as far from 0 as the observed one. Runs are not paired,
// and each competition weighs the same, whatever its number of runs. No way is
// sampled; all are counted.
//
// smallest is the smallest p that any outcome with as many successes at each
// competition can have; p cannot be below it. Without any difference in
// outcomes both are 1.
//
// With one run each it is the exact McNemar test, at one competition with equal
// numbers of runs Fisher's exact test. Shares with a common denominator above that
// of the grid, 5040 for few competitions, are rounded to it, and sums that are as far
// as the observed one but for rounding count as such: p is never too small.
//
// Source: Pitman, Significance tests which may be applied to samples from any
// populations, Supplement to JRSS 4 (1937); Mehta, Patel and Gray, Computing an
// exact confidence interval for the common odds ratio, JASA 80 (1985).
func Permutation(strata []Successes) (p, smallest float64) {
	scale, slack, most := 1, 0, grid(len(strata))
	for _, s := range strata {
		for _, n := range []int{s.FirstRuns, s.SecondRuns} {
			if scale = scale / divisor(scale, n) * n; scale > most {
				scale, slack = most, len(strata)
			}
		}
	}
	sum := sums{weights: []float64{1}}
	observed := 0
	for _, s := range strata {
		observed += s.difference(s.First, scale)
		sum = sum.add(s, scale)
	}
	return sum.beyond(max(observed, -observed) - slack), sum.beyond(max(-sum.lowest, sum.lowest+len(sum.weights)-1) - slack)
}

// difference is the difference of the shares, times scale, if the first agent
// had some of the successes.
func (s Successes) difference(first, scale int) int {
	second := s.First + s.Second - first
	return int(math.Round(float64((first*s.SecondRuns-second*s.FirstRuns)*scale) / float64(s.FirstRuns*s.SecondRuns)))
}

// sums is the distribution of a sum of differences: the probabilities of lowest
// and the integers after it.
type sums struct {
	lowest  int
	weights []float64
}

// add convolves the distribution with that of a competition: hypergeometric.
func (d sums) add(s Successes, scale int) sums {
	least, weights := s.ways()
	if len(weights) == 1 {
		return d
	}
	low, high := s.difference(least, scale), s.difference(least+len(weights)-1, scale)
	out := sums{d.lowest + low, make([]float64, len(d.weights)+high-low)}
	for i, w := range weights {
		at := s.difference(least+i, scale) - low
		for j, p := range d.weights {
			out.weights[at+j] += float64(p * w)
		}
	}
	return out
}

// ways are the probabilities of the numbers of successes that the first agent
// can have, from the least on. They are built from the likeliest, so that
// nothing overflows.
func (s Successes) ways() (least int, weights []float64) {
	all, m := s.FirstRuns+s.SecondRuns, s.First+s.Second
	least = max(0, m-s.SecondRuns)
	weights = make([]float64, min(s.FirstRuns, m)-least+1)
	mode := min(max((s.FirstRuns+1)*(m+1)/(all+2)-least, 0), len(weights)-1)
	// step is the ratio of the probabilities of a+1 and a.
	step := func(a int) float64 {
		return float64((s.FirstRuns-a)*(m-a)) / float64((a+1)*(s.SecondRuns-m+a+1))
	}
	weights[mode] = 1
	for i := mode; i+1 < len(weights); i++ {
		weights[i+1] = float64(weights[i] * step(least+i))
	}
	for i := mode; i > 0; i-- {
		weights[i-1] = weights[i] / step(least+i-1)
	}
	total := 0.0
	for _, w := range weights {
		total += w
	}
	for i := range weights {
		weights[i] /= total
	}
	return least, weights
}

// beyond is the probability of sums at least as far from 0. It adds the smallest
// first, and rounds to the 13 digits that are certain: one in twenty is 0.05.
func (d sums) beyond(distance int) float64 {
	if distance <= 0 {
		return 1
	}
	var tail []float64
	for i, w := range d.weights {
		if at := d.lowest + i; max(at, -at) >= distance {
			tail = append(tail, w)
		}
	}
	slices.Sort(tail)
	p := 0.0
	for _, w := range tail {
		p += w
	}
	p, _ = strconv.ParseFloat(strconv.FormatFloat(min(p, 1), 'e', 12, 64), 64) // it is a number
	return p
}

func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Holm adjusts the p-values of tests that are made together: at most alpha of
// such sets have a true null hypothesis whose adjusted p is alpha or less,
// however the tests depend on each other. NaN is no test.
//
// Source: Holm, A simple sequentially rejective multiple test procedure,
// Scandinavian Journal of Statistics 6 (1979).
func Holm(ps []float64) []float64 {
	out := slices.Clone(ps)
	var order []int
	for i, p := range ps {
		if !math.IsNaN(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case ps[a] < ps[b]:
			return -1
		case ps[a] > ps[b]:
			return 1
		}
		return 0
	})
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, ps[i]*float64(len(order)-rank)))
		out[i] = highest
	}
	return out
}
