package random

import (
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
)

// RandomState is numpy's legacy generator, numpy.random.RandomState, which
// numpy.random.seed and scikit-learn's random_state arguments also stand for.
// Its stream has been frozen by numpy since 1.17. It is not safe for use by
// several goroutines at once.
type RandomState struct{ mt mt19937 }

// NewRandomState is RandomState(seed) for an integer seed.
func NewRandomState(seed uint32) *RandomState {
	r := new(RandomState)
	r.mt.seedWord(seed)
	return r
}

func (r *RandomState) interval(top uint64) uint64 { return masked(&r.mt, top) }

func (r *RandomState) intervals(dst []uint32, top uint32) {
	for k := 0; k < len(dst); {
		mask := ^uint32(0) >> bits.LeadingZeros32(top)
		// All tops down to mask/2+1 share the mask.
		same := min(len(dst)-k, int(top-mask/2))
		r.maskedRun(dst[k:k+same], top, mask, falling)
		k += same
		top -= uint32(same)
	}
}

// What maskedRun does with top after each number.
const (
	steady  = uint32(0)
	falling = ^uint32(0)
)

// maskedRun fills dst with draws from 0 … top, all of the same mask, where top
// is steady or falling by one. Writing first and then stepping on only if the
// word was in range keeps the loop free of branches that no predictor can
// guess.
func (r *RandomState) maskedRun(dst []uint32, top, mask, trend uint32) {
	for k := 0; k < len(dst); {
		if r.mt.pos >= mtWords {
			r.mt.refill()
		}
		words := r.mt.out[r.mt.pos:]
		used := len(words)
		for i, y := range words {
			v := y & mask
			dst[k] = v
			if v <= top-uint32(k)&trend {
				k++
			}
			if k == len(dst) {
				used = i + 1
				break
			}
		}
		r.mt.pos += used
	}
}

// Permutation is permutation(n): the numbers 0 … n-1 in random order. A
// negative n gives an empty one.
func (r *RandomState) Permutation(n int) []int { return Permutation(r, n) }

// Uniform is uniform(low, high).
func (r *RandomState) Uniform(low, high float64) float64 {
	return low + float64((high-low)*r.mt.float64())
}

// Integer is randint(low, high) for the default 64-bit dtype: an integer
// from low … high-1. It is an error when low >= high.
func (r *RandomState) Integer(low, high int64) (int64, error) {
	if low >= high {
		return 0, fmt.Errorf("draw integer: low %d is not below high %d", low, high)
	}
	return low + int64(masked(&r.mt, uint64(high)-uint64(low)-1)), nil
}

// Integers is randint(low, high, size=n) for the default 64-bit dtype. As in numpy, no
// range is refused when n is 0.
func (r *RandomState) Integers(low, high int64, n int) ([]int64, error) {
	out := make([]int64, max(n, 0))
	top := uint64(high) - uint64(low) - 1
	if low >= high || top == 0 || top > math.MaxUint32 {
		for i := range out {
			var err error
			if out[i], err = r.Integer(low, high); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	mask := ^uint32(0) >> bits.LeadingZeros32(uint32(top))
	var buf [batch]uint32
	for rest := out; len(rest) > 0; {
		draws := buf[:min(batch, len(rest))]
		r.maskedRun(draws, uint32(top), mask, steady)
		for i, v := range draws {
			rest[i] = low + int64(v)
		}
		rest = rest[len(draws):]
	}
	return out, nil
}

// masked draws from 0 … top: a word cut down to the bits of top, drawn again
// until it is in range. A top of 32 bits costs 32-bit words, 0 costs none.
func masked(w *mt19937, top uint64) uint64 {
	if top == 0 {
		return 0
	}
	mask := ^uint64(0) >> bits.LeadingZeros64(top)
	for {
		var v uint64
		if top>>32 == 0 {
			v = uint64(w.uint32()) & mask
		} else {
			v = w.uint64() & mask
		}
		if v <= top {
			return v
		}
	}
}

// Source is a RandomState or a Python. Both libraries shuffle in the same way
// and differ only in how they draw the positions.
type Source interface {
	// interval draws from 0 … top.
	interval(top uint64) uint64
	// intervals fills dst with draws from 0 … top, 0 … top-1, and so on,
	// none of them from 0 … 0.
	intervals(dst []uint32, top uint32)
}

// batch is how many swaps are drawn ahead.
const batch = 128

// Shuffle reorders x in place as shuffle does in both libraries: from
// the last element down, each changes places with one at or before it.
func Shuffle[T any](src Source, x []T) { shuffle(src, x, func([]uint32) {}) }

// shuffle hands every batch of positions to ahead before it swaps them.
func shuffle[T any](src Source, x []T, ahead func(positions []uint32)) {
	i := len(x) - 1
	for ; i >= math.MaxUint32; i-- {
		j := src.interval(uint64(i))
		x[i], x[j] = x[j], x[i]
	}
	var buf [batch]uint32
	for i > 0 {
		positions := buf[:min(batch, i)]
		src.intervals(positions, uint32(i))
		ahead(positions)
		for k, j := range positions {
			x[i-k], x[j] = x[j], x[i-k]
		}
		i -= len(positions)
	}
}

// Permutation is permutation(n): 0 … n-1 shuffled. A negative n gives an
// empty result.
func Permutation(src Source, n int) []int {
	x := ascending(max(n, 0))
	// Reading a batch's positions before swapping any lets the processor
	// fetch them from memory side by side, a third faster for large n.
	var sum int
	shuffle(src, x, func(positions []uint32) {
		for _, j := range positions {
			sum += x[j]
		}
	})
	unused.Store(uint64(sum))
	return x
}

// unused keeps the compiler from dropping the reads ahead.
var unused atomic.Uint64

// ascending is 0 … n-1.
func ascending(n int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = i
	}
	return x
}
