package random

import "math"

// Source is a RandomState, a Generator or a Python. All three libraries
// shuffle in the same way and differ only in how they draw the positions.
type Source interface {
	// interval draws from 0 … top.
	interval(top uint64) uint64
	// intervals fills dst with draws from 0 … top, 0 … top-1, and so on,
	// none of them from 0 … 0.
	intervals(dst []uint32, top uint32)
}

// Index is a type that can hold row numbers.
type Index interface {
	~int | ~int32 | ~uint32 | ~int64 | ~uint64
}

// batch is how many swaps are drawn ahead. Drawing them before touching the
// data lets the processor overlap the cache misses of neighbouring swaps.
const batch = 1024

// Shuffle reorders x in place as shuffle does in all three libraries: from
// the last element down, each changes places with one at or before it.
func Shuffle[T any](src Source, x []T) {
	i := len(x) - 1
	for ; i >= math.MaxUint32; i-- {
		j := src.interval(uint64(i))
		x[i], x[j] = x[j], x[i]
	}
	var buf [batch]uint32
	for i > 0 {
		draws := buf[:min(batch, i)]
		src.intervals(draws, uint32(i))
		for k, j := range draws {
			x[i-k], x[j] = x[j], x[i-k]
		}
		i -= len(draws)
	}
}

// Permutation is permutation(n): 0 … n-1 shuffled. A negative n gives an
// empty result; a T too narrow for n-1 does too, since wrapped row numbers
// would be silently wrong.
func Permutation[T Index](src Source, n int) []T {
	if n < 0 || n > 0 && int(T(n-1)) != n-1 {
		return []T{}
	}
	x := ascending[T](n)
	Shuffle(src, x)
	return x
}

// ascending is 0 … n-1.
func ascending[T Index](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(i)
	}
	return x
}
