package random

import (
	"fmt"
	"math/bits"
)

// Generator is numpy's Generator as default_rng(seed) makes it, on PCG64.
// numpy has not changed the streams of the methods here since 1.18. It is
// not safe for use by several goroutines at once.
type Generator struct{ bits pcg64 }

// NewGenerator is numpy.random.default_rng(seed).
func NewGenerator(seed uint64) *Generator {
	g := new(Generator)
	g.bits.seed(newSeedSequence(words32(seed)).generate(4))
	return g
}

// below draws from 0 … n-1 (any uint64 when n is 0) by Lemire's method, as
// integers and choice do. n = 1 costs nothing, a range that fits 32 bits
// costs half words.
func (g *Generator) below(n uint64) uint64 {
	switch top := n - 1; {
	case top == 0:
		return 0
	case top < 1<<32-1:
		return uint64(g.below32(uint32(n)))
	case top == 1<<32-1:
		return uint64(g.bits.uint32())
	case n == 0:
		return g.bits.uint64()
	}
	high, low := bits.Mul64(g.bits.uint64(), n)
	for threshold := -n % n; low < threshold; {
		high, low = bits.Mul64(g.bits.uint64(), n)
	}
	return high
}

// below32 is Below for 2 <= n < 2³². The division is done only for the few
// products that may have to be rejected.
func (g *Generator) below32(n uint32) uint32 {
	m := uint64(g.bits.uint32()) * uint64(n)
	if uint32(m) < n {
		for threshold := -n % n; uint32(m) < threshold; {
			m = uint64(g.bits.uint32()) * uint64(n)
		}
	}
	return uint32(m >> 32)
}

// Uniform is uniform(low, high).
func (g *Generator) Uniform(low, high float64) float64 {
	return low + float64((high-low)*g.bits.float64())
}

// Integer is integers(low, high) for the default 64-bit dtype: an integer
// from low … high-1. It is an error when low >= high.
func (g *Generator) Integer(low, high int64) (int64, error) {
	if low >= high {
		return 0, fmt.Errorf("draw integer: low %d is not below high %d", low, high)
	}
	return low + int64(g.below(uint64(high)-uint64(low))), nil
}

// Integers is integers(low, high, size=n) for the default 64-bit dtype.
func (g *Generator) Integers(low, high int64, n int) ([]int64, error) {
	return integers(g.Integer, low, high, n)
}
