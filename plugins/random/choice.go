package random

import (
	"errors"
	"fmt"
	"math"
)

// Choice is choice(n, size=k, replace=replace): positions in the order they
// are drawn. Without replacement it is the start of a whole permutation of n,
// whatever k is.
func (r *RandomState) Choice(n, k int, replace bool) ([]int, error) {
	if err := checkChoice(n, k, replace); err != nil {
		return nil, err
	}
	if replace {
		return drawBelow(r.Below, n, k), nil
	}
	return r.Permutation(n)[:k:k], nil
}

// WeightedChoice is choice(len(p), size=k, replace=replace, p=p). p must hold
// no negative number and sum to 1 within 1.5e-8.
func (r *RandomState) WeightedChoice(p []float64, k int, replace bool) ([]int, error) {
	return weightedChoice(r.Float64, p, k, replace)
}

// Choice is choice(n, size=k, replace=replace): positions in the order they
// are drawn. Without replacement numpy shuffles only the tail of 0 … n-1 when
// n > 10,000 and k > n/50, and else takes Floyd's sample and shuffles it.
func (g *Generator) Choice(n, k int, replace bool) ([]int, error) {
	if err := checkChoice(n, k, replace); err != nil {
		return nil, err
	}
	switch {
	case replace:
		return drawBelow(g.Below, n, k), nil
	case n > 10_000 && k > n/50:
		return g.tailShuffle(n, k), nil
	default:
		return g.floyd(n, k), nil
	}
}

// WeightedChoice is choice(len(p), size=k, replace=replace, p=p). p must hold
// no negative number and sum to 1 within 1.5e-8.
func (g *Generator) WeightedChoice(p []float64, k int, replace bool) ([]int, error) {
	return weightedChoice(g.Float64, p, k, replace)
}

func (g *Generator) tailShuffle(n, k int) []int {
	x := ascending[int](n)
	g.shuffleFrom(x, max(n-k, 1))
	out := make([]int, k)
	copy(out, x[n-k:])
	return out
}

// shuffleFrom shuffles x down to position first. choice draws its swaps by
// Lemire's method, whereas shuffle masks.
func (g *Generator) shuffleFrom(x []int, first int) {
	for i := len(x) - 1; i >= first; i-- {
		j := g.Below(uint64(i) + 1)
		x[i], x[j] = x[j], x[i]
	}
}

// floyd draws k of n different numbers with k draws (Bentley and Floyd 1987).
func (g *Generator) floyd(n, k int) []int {
	seen := make(map[int]struct{}, k)
	out := make([]int, k)
	for i := range out {
		last := n - k + i
		v := int(g.Below(uint64(last) + 1))
		if _, ok := seen[v]; ok {
			v = last
		}
		seen[v] = struct{}{}
		out[i] = v
	}
	g.shuffleFrom(out, 1)
	return out
}

func checkChoice(n, k int, replace bool) error {
	switch {
	case k < 0:
		return fmt.Errorf("choose elements: a negative number, %d, is wanted", k)
	case n < 0:
		return fmt.Errorf("choose elements: a population of %d", n)
	case n == 0 && k > 0:
		return errors.New("choose elements: the population is empty")
	case !replace && k > n:
		return fmt.Errorf("choose elements: %d different ones wanted of %d", k, n)
	}
	return nil
}

func drawBelow(below func(uint64) uint64, n, k int) []int {
	out := make([]int, k)
	for i := range out {
		out[i] = int(below(uint64(n)))
	}
	return out
}

func weightedChoice(next func() float64, p []float64, k int, replace bool) ([]int, error) {
	if err := checkChoice(len(p), k, replace); err != nil {
		return nil, err
	}
	if err := checkWeights(p, k, replace); err != nil {
		return nil, err
	}
	if replace {
		return drawCumulative(next, cumulative(p), make([]int, 0, k), k), nil
	}
	return drawDistinct(next, p, k), nil
}

// checkWeights refuses what numpy refuses; its sum is Kahan's.
func checkWeights(p []float64, k int, replace bool) error {
	const tolerance = 1.4901161193847656e-08 // the square root of 2⁻⁵²
	var sum, carry float64
	positive := 0
	for i, w := range p {
		if !(w >= 0) {
			return fmt.Errorf("choose elements: the probability at position %d is %v", i, w)
		}
		if w > 0 {
			positive++
		}
		y := w - carry
		t := sum + y
		carry = (t - sum) - y
		sum = t
	}
	if !(math.Abs(sum-1) <= tolerance) {
		return fmt.Errorf("choose elements: the probabilities sum to %v, not to 1", sum)
	}
	if !replace && positive < k {
		return fmt.Errorf("choose elements: %d different ones wanted, but only %d have a positive probability", k, positive)
	}
	return nil
}

// drawDistinct draws in rounds: as many as are missing, keep the first of
// each kind, set their probabilities to zero, again.
func drawDistinct(next func() float64, p []float64, k int) []int {
	left := append([]float64(nil), p...)
	out := make([]int, 0, k)
	for len(out) < k {
		round := drawCumulative(next, cumulative(left), nil, k-len(out))
		for _, v := range round {
			if left[v] >= 0 {
				left[v] = -1 // seen in this round
				out = append(out, v)
			}
		}
		for _, v := range out {
			left[v] = 0
		}
	}
	return out
}

// cumulative is the running sum of p, scaled to end at 1.
func cumulative(p []float64) []float64 {
	out := make([]float64, len(p))
	sum := 0.0
	for i, w := range p {
		sum += w
		out[i] = sum
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

func drawCumulative(next func() float64, cdf []float64, dst []int, k int) []int {
	for range k {
		dst = append(dst, upperBound(cdf, next()))
	}
	return dst
}

// upperBound is how many elements of the ascending xs are at most x:
// searchsorted(side="right") and bisect_right.
func upperBound(xs []float64, x float64) int {
	low, high := 0, len(xs)
	for low < high {
		mid := int(uint(low+high) / 2)
		if x < xs[mid] {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}
