package stat

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// Successes are the runs of two agents at one competition, and how many of them
// succeeded.
type Successes struct {
	First, FirstRuns   int
	Second, SecondRuns int
}

const (
	// maxProducts bounds the work of a test: a few milliseconds.
	maxProducts = 2_000_000
	// negligible is the probability of a sum that is not followed up, but counts as being
	// as far from 0 as the observed one.
	negligible = 1e-30
	// maxScale is the largest common denominator with which sums are exact.
	maxScale = 1 << 20
)

// grids are denominators that shares are rounded to, the finest first.
var grids = []int{55440, 27720, 10080, 5040, 2520, 1260, 840, 420, 240, 120, 60}

// Permutation is the exact two-sided permutation test of two agents. Under the
// null hypothesis the runs at a competition are exchangeable between them: p is
// the share of all ways to give the runs of each competition to the agents in
// which the mean over competitions of the difference of their shares of
// successes is at least as far from 0 as the observed one. Runs are not paired,
// and each competition weighs the same, whatever its number of runs. No way is
// sampled; all are counted. The order of the competitions does not matter.
//
// smallest is the smallest p that any outcome with as many successes at each
// competition can have; p cannot be below it. Without any difference in
// outcomes both are 1.
//
// With one run each it is the exact McNemar test, at one competition with equal
// numbers of runs Fisher's exact test. Where numbers of runs have no common multiple with
// which counting takes at most maxProducts, the differences at competitions are rounded to
// a grid. Sums that are as far as the observed one but for rounding count as such: p is
// never too small.
//
// Source: Pitman, Significance tests which may be applied to samples from any
// populations, Supplement to JRSS 4 (1937); Mehta, Patel and Gray, Computing an
// exact confidence interval for the common odds ratio, JASA 80 (1985).
func Permutation(strata []Successes) (p, smallest float64) {
	var all []stratum
	observed, low, high, lows, highs := 0.0, 0.0, 0.0, 1.0, 1.0
	for _, s := range strata {
		w := s.ways()
		most := len(w.weights) - 1
		observed += s.difference(s.First)
		low, high = low+s.difference(w.lowest), high+s.difference(w.lowest+most)
		lows, highs = float64(lows*w.weights[0]), float64(highs*w.weights[most])
		if most > 0 {
			all = append(all, w)
		}
	}
	switch beyond := low + high; {
	case math.Abs(beyond) < 1e-9:
		smallest = min(1, lows+highs)
	case beyond > 0:
		smallest = highs
	default:
		smallest = lows
	}
	all = merge(all)
	l := latticeOf(all)
	sum, origin, rough := sums{0, []float64{1}, 0}, 0, 1e-6
	for _, s := range all {
		points, first, off := l.points(s)
		sum, origin, rough = sum.add(points), origin+first, rough+off
	}
	distance := math.Ceil(float64(math.Abs(observed)*float64(l.scale)) - rough)
	return certain(max(l.beyond(sum, origin, int(distance)), smallest)), certain(smallest)
}

// difference is the difference of the shares if the first agent had some of the successes.
func (s Successes) difference(first int) float64 {
	return float64(first)/float64(s.FirstRuns) - float64(s.First+s.Second-first)/float64(s.SecondRuns)
}

// sums is a distribution: the probabilities of the integers from lowest on, and of those
// left out.
type sums struct {
	lowest  int
	weights []float64
	lost    float64
}

// add convolves two distributions.
func (d sums) add(few sums) sums {
	out := sums{d.lowest + few.lowest, make([]float64, len(d.weights)+len(few.weights)-1), d.lost + few.lost}
	for i, w := range few.weights {
		if w == 0 {
			continue
		}
		row := out.weights[i:][:len(d.weights)]
		for j, p := range d.weights {
			row[j] += float64(p * w)
		}
	}
	return out.trim()
}

// trim leaves out what is negligible at both ends.
func (d sums) trim() sums {
	for d.weights[0] < negligible {
		d = sums{d.lowest + 1, d.weights[1:], d.lost + d.weights[0]}
	}
	for last := len(d.weights) - 1; d.weights[last] < negligible; last-- {
		d = sums{d.lowest, d.weights[:last], d.lost + d.weights[last]}
	}
	return d
}

// stratum is a competition with the distribution of the first agent's successes. It can be
// several with the same numbers of runs: then the successes are of all, and the runs of one.
type stratum struct {
	Successes
	sums
}

// merge adds up the competitions with the same numbers of runs, which rounds nothing. The
// stratum with the most ways becomes the first, which makes the sum of all cheap.
func merge(strata []stratum) (out []stratum) {
	slices.SortFunc(strata, func(a, b stratum) int {
		return cmp.Or(a.FirstRuns-b.FirstRuns, a.SecondRuns-b.SecondRuns, a.First+a.Second-b.First-b.Second)
	})
	for _, s := range strata {
		s.sums = s.trim()
		if last := len(out) - 1; last >= 0 && out[last].FirstRuns == s.FirstRuns && out[last].SecondRuns == s.SecondRuns {
			o := &out[last]
			o.First, o.Second, o.sums = o.First+s.First, o.Second+s.Second, o.add(s.sums)
			continue
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b stratum) int { return len(b.weights) - len(a.weights) })
	return out
}

// lattice is what differences are rounded to: from the lowest on, multiples of step, in
// units of 1/scale.
type lattice struct{ scale, step int }

// latticeOf is exact, or the finest grid, that takes no more than maxProducts.
func latticeOf(strata []stratum) lattice {
	scale, step := 1, 0
	for _, s := range strata {
		for _, n := range []int{s.FirstRuns, s.SecondRuns} {
			if scale <= maxScale {
				scale = scale / divisor(scale, n) * n
			}
		}
	}
	if scale <= maxScale {
		for _, s := range strata {
			step = divisor(scale/s.FirstRuns+scale/s.SecondRuns, step)
		}
		if exact := (lattice{scale, max(step, 1)}); exact.products(strata) <= maxProducts {
			return exact
		}
	}
	for _, scale := range grids {
		if l := (lattice{scale, 1}); l.products(strata) <= maxProducts {
			return l
		}
	}
	return lattice{grids[len(grids)-1], 1}
}

// products estimates the work of a sum. What is 12 standard deviations off is negligible.
func (l lattice) products(strata []stratum) (n float64) {
	width, variance := 1.0, 0.0
	for _, s := range strata {
		reach := (s.difference(s.lowest+len(s.weights)-1) - s.difference(s.lowest)) * float64(l.scale) / float64(l.step)
		n += float64(min(float64(len(s.weights)), reach+1) * min(width, 1+float64(24*math.Sqrt(variance))))
		unit, mean, square := reach/float64(max(len(s.weights)-1, 1)), 0.0, 0.0
		for i, w := range s.weights {
			mean, square = mean+float64(w*float64(i)), square+float64(w*float64(i*i))
		}
		width, variance = width+reach, variance+float64(unit*unit*max(0, square-float64(mean*mean)))
	}
	return n
}

// points is the distribution of a stratum's difference, in steps from the lowest, and the
// most that rounding changes in it.
func (l lattice) points(s stratum) (out sums, lowest int, off float64) {
	at := func(way int) (units int, off float64) {
		exact := float64(s.difference(s.lowest+way) * float64(l.scale))
		return int(math.Round(exact)), math.Abs(exact - math.Round(exact))
	}
	lowest, _ = at(0)
	highest, _ := at(len(s.weights) - 1)
	out = sums{0, make([]float64, (highest-lowest)/l.step+1), s.lost}
	for i, w := range s.weights {
		units, d := at(i)
		out.weights[(units-lowest)/l.step] += w
		off = max(off, d)
	}
	return out, lowest, off
}

// beyond is the probability of sums at least as far from 0.
func (l lattice) beyond(d sums, origin, distance int) float64 {
	if distance <= 0 {
		return 1
	}
	tail := []float64{d.lost}
	for i, w := range d.weights {
		if at := origin + (d.lowest+i)*l.step; max(at, -at) >= distance {
			tail = append(tail, w)
		}
	}
	return metric.Sum(tail)
}

// ways are the probabilities of the numbers of successes that the first agent
// can have. They are built from the likeliest, so that
// nothing overflows.
func (s Successes) ways() stratum {
	all, m := s.FirstRuns+s.SecondRuns, s.First+s.Second
	least := max(0, m-s.SecondRuns)
	weights := make([]float64, min(s.FirstRuns, m)-least+1)
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
	return stratum{s, sums{least, weights, 0}}
}

// certain rounds a probability to the 13 digits that are certain: one in twenty is 0.05.
// None is 0: below 1e-300 it is rounded up.
func certain(p float64) float64 {
	p, _ = strconv.ParseFloat(strconv.FormatFloat(min(max(p, 1e-300), 1), 'e', 12, 64), 64) // it is a number
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
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, ps[i]*float64(len(order)-rank)))
		out[i] = highest
	}
	return out
}
